//! A client whose address changes, with several workers: its datagrams reach other sockets than before.

use portcullis_proxy::ProxyOptions;

use super::{connect, gateway};
use crate::support::http3::request;
use crate::support::tls::Authority;
use crate::support::{Backend, Running, eventually};

/// How often the client's address changes.
const CHANGES: usize = 100;

#[test]
fn nothing_is_lost_when_a_clients_address_changes() {
    let (backend, authority) = (Backend::named("web"), Authority::new());
    let options = ProxyOptions { workers: 3, ..Running::options() };
    let running = Running::with(&gateway(&authority, &backend), options);
    let client = connect(&running, &authority);
    for change in 0..CHANGES {
        assert_eq!(client.get("a.test", &format!("/{change}")).text(), "web", "after {change} changes");
        client.rebind();
    }
    let paths: Vec<String> =
        (0..CHANGES).map(|_| backend.head().split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(paths, (0..CHANGES).map(|change| format!("/{change}")).collect::<Vec<_>>(), "each once");
    let handed = |page: &str| {
        let line =
            page.lines().find(|line| line.starts_with("portcullis_quic_handed_over_datagrams_total "))?;
        line.split(' ').nth(1)?.parse::<u64>().ok().filter(|count| *count > 0)
    };
    assert!(handed(&running.metrics()).is_some(), "datagrams that came to other workers were handed over");
    eventually(|| running.metrics().contains("portcullis_connections_total 1\n").then_some(()));
}

/// Bodies in both directions go on, whichever worker their datagrams come to.
#[test]
fn what_is_under_way_goes_on_while_a_clients_address_changes() {
    let body = "0123456789abcdef".repeat(1 << 14);
    let length = body.len();
    let backend = Backend::scripted(move |connection| {
        connection.request();
        let body = connection.exactly(length);
        std::thread::sleep(std::time::Duration::from_millis(100)); // a while in which only addresses change
        connection.answer(&body);
    });
    let authority = Authority::new();
    let options = ProxyOptions { workers: 3, ..Running::options() };
    let running = Running::with(&gateway(&authority, &backend), options);
    let client = connect(&running, &authority);
    let mut post = request("POST", "a.test", "/");
    post.headers_mut().insert("content-length", length.into());
    let (answer, moves) = client.exchange_moving(post, body.as_bytes());
    assert!(answer.body == body.as_bytes(), "{} of {length} bytes", answer.body.len());
    assert!(moves > 10, "{moves}");
}
