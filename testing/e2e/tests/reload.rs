//! Reload under load: 64 kept connections while routes, certificates, listeners and endpoints change 500
//! times, most of the changes hitting the very objects under load.
//!
//! Every answer is checked against the versions that were valid between its request and its end; no
//! connection may end; a change is served within 20 ms in the mean, counted from its file's rename.
//!
//! And 100 WebSockets that nothing of it concerns, through 2,000 changes.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "reload/clients.rs"]
mod clients;
#[path = "reload/versions.rs"]
mod versions;
#[path = "reload/websockets.rs"]
mod websockets;
#[path = "reload/world.rs"]
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clients::{Load, Protocol};
use versions::History;
use world::{Change, World};

const CONNECTIONS: usize = 64;
const CHANGES: usize = 500;
const MEAN_LIMIT: Duration = Duration::from_millis(20);

#[test]
fn http1_connections_notice_nothing_but_the_change() {
    change_under(Protocol::Http1);
}

#[test]
fn http2_connections_over_tls_notice_nothing_but_the_change() {
    change_under(Protocol::Http2OverTls);
}

fn change_under(protocol: Protocol) {
    let _alone = world::alone(); // two loads at once would measure each other
    let history = Arc::new(History::default());
    let mut world = World::start(Arc::clone(&history));
    let load = Load::start(protocol, CONNECTIONS, &world, Arc::clone(&history));
    let mut delays = Vec::new();
    for number in 0..CHANGES {
        delays.push(world.make(Change::of(number)));
    }
    let seen = load.stop();
    let mean = delays.iter().sum::<Duration>() / u32::try_from(delays.len()).unwrap();
    let most = delays.iter().max().unwrap();
    println!(
        "{protocol:?}: {} answers, {CHANGES} changes served after {mean:?} (mean), {most:?} (most)",
        seen.answers
    );
    assert_eq!(seen.failures, Vec::<String>::new(), "failures under load");
    assert!(seen.answers > 10 * CHANGES as u64, "only {} answers: there was no load", seen.answers);
    assert!(mean <= MEAN_LIMIT, "a change took {mean:?} in the mean");
}

/// How long to wait for a change before it counts as lost.
fn patience() -> Instant {
    Instant::now() + Duration::from_secs(10)
}
