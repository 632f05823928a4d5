//! A client whose address changes, with several workers: its datagrams reach other sockets than before.

use portcullis_proxy::ProxyOptions;

use super::{connect, gateway};
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
