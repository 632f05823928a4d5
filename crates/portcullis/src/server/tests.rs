use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

/// Says what it was asked.
struct Parrot;

impl Answer for Parrot {
    async fn answer(&self, request: Request) -> Response {
        let (head, body) = (&request.head, String::from_utf8_lossy(&request.body));
        let path = String::from_utf8_lossy(head.path()).into_owned();
        Response::text(200, format!("{path} {} {body}", request.body_bytes))
    }
}

/// All that the server says to these bytes, until it closes.
async fn ask(bytes: &[u8]) -> String {
    let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(serve(listener, Parrot));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    server.abort();
    answer
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn requests_of_one_connection_are_answered_in_order_until_it_is_to_close() {
    let answer = run(ask(b"GET /one HTTP/1.1\r\nHost: a\r\n\r\n\
        POST /two HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
        POST /three HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"));
    let bodies: Vec<&str> = answer.split("\r\n\r\n").collect();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(bodies[1].starts_with("/one 0 HTTP/1.1 200 OK"), "{answer}");
    assert!(bodies[2].starts_with("/two 3 abcHTTP/1.1 200 OK"), "{answer}");
    assert_eq!(bodies[3], "/three 2 hi");
    assert_eq!(answer.matches("onnection: close").count(), 1);
}

#[test]
fn a_long_body_is_read_to_its_end_and_kept_in_part() {
    let length = BODY_KEPT + 10;
    let mut request =
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
            .into_bytes();
    request.resize(request.len() + length, b'x');
    let answer = run(ask(&request));
    assert!(answer.ends_with(&format!("/ {length} {}", "x".repeat(BODY_KEPT))));
}

#[test]
fn an_answer_to_head_has_no_body() {
    let answer = run(ask(b"HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    assert!(
        answer.ends_with("\r\n\r\n") && answer.to_ascii_lowercase().contains("content-length: 5\r\n"),
        "{answer}"
    );
}

#[test]
fn what_is_not_http_is_answered_with_400_and_closed() {
    let answer = run(ask(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
}

#[test]
fn a_client_that_waits_for_continue_is_told_to_go_on() {
    run(async {
        let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve(listener, Parrot));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"ok").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("/ 2 ok"), "{answer}");
        server.abort();
    });
}
