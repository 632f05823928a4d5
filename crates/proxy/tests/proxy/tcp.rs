//! TCP listeners: whatever comes is passed on as it is.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use portcullis_model::{EndpointAddress, ListenerProtocol};

use crate::support::backend::nobody;
use crate::support::model::{l4_route, tcp_route};
use crate::support::{Backend, Gateway, PATIENCE, Running, eventually};

/// A gateway whose TCP listener leads to these backends.
fn gateway(backends: &[(&str, u32)]) -> Gateway {
    Gateway::new().below("", ListenerProtocol::Tcp(vec![tcp_route(backends)]))
}

/// Says its name before anything was said to it, then gives back what it gets, in upper case, to its end.
fn talkative(name: &'static str) -> Backend {
    Backend::scripted(move |connection| {
        connection.write(name);
        let said = connection.rest();
        connection.write(said.to_uppercase());
    })
}

fn connect(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What a connection says to its end, after this was said to it and that nothing follows.
fn say(running: &Running, text: &str) -> String {
    let mut stream = connect(running);
    stream.write_all(text.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// That a connection ends, by its end or a reset, without a byte.
fn is_closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let end = stream.read_to_end(&mut rest);
    assert!(end.is_ok() || end.unwrap_err().kind() == std::io::ErrorKind::ConnectionReset);
    assert_eq!(rest, b"");
}

fn sessions(running: &Running, reason: &str) -> u64 {
    let name = format!("portcullis_sessions_total{{protocol=\"tcp\",reason=\"{reason}\"}} ");
    let metrics = running.metrics();
    metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

/// The end of one direction is passed on, and the other goes on.
#[test]
fn each_side_may_speak_first_and_end_by_itself() {
    let backend = talkative("hello ");
    let running = Running::start(&gateway(&[("app", 1)]).backend("app", &[backend.address]));
    assert_eq!(say(&running, "what is this?"), "hello WHAT IS THIS?");
    eventually(|| (sessions(&running, "ok") == 1).then_some(()));
    let metrics = running.metrics();
    assert!(metrics.contains("portcullis_session_received_bytes_total 13\n"), "{metrics}");
    assert!(metrics.contains("portcullis_session_sent_bytes_total 19\n"), "{metrics}");
}

/// Of several routes the oldest alone serves, by age and then by name (GEP-1901).
#[test]
fn the_oldest_route_serves_alone() {
    let (first, second) = (talkative("first "), talkative("second "));
    let route = |name: &str| l4_route(name, &[""], portcullis_model::UpstreamProtocol::Tcp, &[(name, 1)]);
    let mut old = route("second");
    Arc::make_mut(&mut old).age = portcullis_model::Age::created_at(1);
    let listener = ListenerProtocol::Tcp(vec![route("first"), old]);
    let gateway = Gateway::new()
        .below("", listener)
        .backend("first", &[first.address])
        .backend("second", &[second.address]);
    let running = Running::start(&gateway);
    for _ in 0..5 {
        assert_eq!(say(&running, ""), "second ");
    }
}

/// Weights hold for connections, exactly over time in a worker.
#[test]
fn connections_are_shared_by_weight() {
    let backends = ["a", "b", "c"].map(|name| (name, talkative(name)));
    let mut gateway = gateway(&[("a", 7), ("b", 3), ("c", 0)]);
    for (name, backend) in &backends {
        gateway = gateway.backend(name, &[backend.address]);
    }
    let running = Running::start(&gateway);
    let answers: Vec<String> = (0..20).map(|_| say(&running, "")).collect();
    let count = |name: &str| answers.iter().filter(|answer| *answer == name).count();
    assert_eq!((count("a"), count("b"), count("c")), (14, 6, 0));
}

#[test]
fn a_share_that_leads_nowhere_is_closed_without_a_byte() {
    use portcullis_model::{Failure, FailureReason, Target};
    let fail = |backends: &[(&str, u32)], target: Option<Target>| {
        let mut route = tcp_route(backends);
        if let Some(target) = target {
            Arc::make_mut(&mut route).backends[0].target = target;
        }
        Gateway::new().below("", ListenerProtocol::Tcp(vec![route])).backend("app", &[])
    };
    let refusal =
        Failure { status: 500, reason: FailureReason::BackendInvalid, message: "it is missing".into() };
    for (gateway, reason) in [
        (fail(&[("app", 1)], Some(Target::Fail(refusal))), "backend_invalid"),
        (fail(&[("app", 1)], None), "no_endpoint"),
        (fail(&[("app", 0)], None), "zero_weight"),
        (fail(&[], None), "no_backends"),
        (Gateway::new().below("", ListenerProtocol::Tcp(Vec::new())), "no_rule"),
    ] {
        let running = Running::start(&gateway);
        is_closed(connect(&running));
        eventually(|| (sessions(&running, reason) == 1).then_some(()));
    }
}

/// A connection that cannot be had lets one more endpoint be tried.
#[test]
fn a_failed_connect_tries_one_more_endpoint() {
    let backend = talkative("alive");
    let running = Running::start(&gateway(&[("app", 1)]).backend("app", &[nobody(), backend.address]));
    for _ in 0..4 {
        assert_eq!(say(&running, ""), "alive");
    }
    let running =
        Running::start(&gateway(&[("app", 1)]).backend("app", &[nobody(), nobody(), backend.address]));
    let answers: Vec<String> = (0..3)
        .map(|_| {
            let mut stream = connect(&running);
            let _ = stream.shutdown(Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            String::from_utf8(answer).unwrap()
        })
        .collect();
    assert!(answers.iter().any(String::is_empty), "both that were tried are dead: {answers:?}");
}

/// More than fits any buffer, both ways at once, arrives whole.
#[test]
fn much_goes_both_ways_at_once() {
    const MUCH: usize = 8 << 20;
    let backend = Backend::scripted(|connection| {
        connection.write(vec![b'd'; MUCH]);
        let said = connection.rest();
        connection.write(if said.len() == MUCH { "all" } else { "not all" });
    });
    let running = Running::start(&gateway(&[("app", 1)]).backend("app", &[backend.address]));
    let mut stream = connect(&running);
    let mut writer = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        writer.write_all(&vec![b'u'; MUCH]).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    writing.join().unwrap();
    assert_eq!((answer.len(), &answer[MUCH..]), (MUCH + 3, &b"all"[..]));
}

/// A broken connection must not look like one that has ended.
#[test]
fn a_reset_is_passed_on_as_a_reset() {
    let backend = Backend::scripted(|connection| {
        connection.write("begun");
        connection.wait_for_end();
    });
    let running = Running::start(&gateway(&[("app", 1)]).backend("app", &[backend.address]));
    let mut stream = connect(&running);
    stream.read_exact(&mut [0; 5]).unwrap();
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    eventually(|| (sessions(&running, "client_closed") == 1).then_some(()));
}

#[test]
fn silence_of_both_sides_ends_a_connection() {
    let (ended, ends) = channel();
    let backend = Backend::scripted(move |connection| {
        connection.write("hello");
        let _ = ended.send(connection.rest());
    });
    let gateway = gateway(&[("app", 1)]).backend("app", &[backend.address]);
    let running = Running::limited(&gateway, |limits| limits.tcp_idle_timeout = Duration::from_millis(300));
    let mut stream = connect(&running);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "hello");
    assert_eq!(ends.recv_timeout(PATIENCE).unwrap(), "");
    eventually(|| (sessions(&running, "idle") == 1).then_some(()));
}

/// A change of the configuration touches no open connection; new ones follow it.
#[test]
fn an_open_connection_notices_no_change() {
    let (old, new) = (talkative("old"), talkative("new"));
    let mut running = Running::start(&gateway(&[("app", 1)]).backend("app", &[old.address]));
    let mut stream = connect(&running);
    stream.read_exact(&mut [0; 3]).unwrap();
    running.apply(&gateway(&[("app", 1)]).backend("app", &[new.address]).model());
    assert_eq!(say(&running, ""), "new");
    stream.write_all(b"still").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "STILL");
}

#[test]
fn a_port_admits_no_more_connections_than_its_limit() {
    let backend = talkative("in");
    let gateway = gateway(&[("app", 1)]).backend("app", &[backend.address]);
    let running = Running::limited(&gateway, |limits| limits.connections_per_port = 1);
    let mut first = connect(&running);
    first.read_exact(&mut [0; 2]).unwrap();
    is_closed(connect(&running));
    drop(first);
    eventually(|| {
        let mut stream = connect(&running);
        stream.read_exact(&mut [0; 2]).ok()
    });
}

/// Names of endpoints are resolved, and sockets of the file system are spoken to, as for requests.
#[test]
fn an_endpoint_may_be_a_name() {
    let backend = talkative("named");
    let name = portcullis_model::Hostname::new("localhost").unwrap();
    let endpoint = EndpointAddress::Name { hostname: name, port: backend.address.port() };
    let running = Running::start(&gateway(&[("app", 1)]).endpoints("app", vec![endpoint]));
    assert_eq!(say(&running, ""), "named");
}
