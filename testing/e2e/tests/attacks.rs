//! What attackers of HTTP/2 and slow clients cost: memory stays bounded, and what other clients wait is at most twice
//! what they wait beside as much harmless load, in the same run.
//!
//! Each attack is measured beside harmless load of as many connections and as many actions a second, in turn; the best
//! pair counts, for a machine that does something else meanwhile spoils one of two.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "attacks/bystanders.rs"]
mod bystanders;
#[path = "attacks/floods.rs"]
mod floods;
#[path = "attacks/frames.rs"]
mod frames;
#[path = "attacks/load.rs"]
mod load;
#[path = "attacks/slow.rs"]
mod slow;

use std::fs;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use portcullis_e2e::{Backend, Portcullis, manifests, ports};

use bystanders::Bystanders;
use load::{Client, Load};

/// How long each load lasts.
const SPAN: Duration = Duration::from_secs(2);
/// Pairs of loads, at most: the first good one ends them.
const PAIRS: usize = 6;
/// What others wait beside an attack, in terms of what they wait beside harmless load.
const RATIO: f64 = 2.0;
/// Below this a wait is the machine's: two schedulings of a busy core.
const NOISE: Duration = Duration::from_millis(4);
/// What an attack may add to the resident memory, in bytes.
const MEMORY: u64 = 64 << 20;

/// A gateway with a backend that answers shortly, and one whose answers are long.
struct World {
    running: Portcullis,
    address: SocketAddr,
    _backends: [Backend; 2],
    _folder: tempfile::TempDir,
}

impl World {
    fn start() -> World {
        let backends = [Backend::named("short"), Backend::named(&"long".repeat(1 << 16))];
        let port = ports::free();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("all.yaml"), resources(port, &backends)).unwrap();
        let running =
            Portcullis::run(folder.path(), ["--workers", "2", "--limit", "upstream-idle-timeout=60s"]);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        World { running, address, _backends: backends, _folder: folder }
    }

    /// What others wait at most in 99 of 100 requests while there is a load, and the most memory that was resident.
    fn beside(&self, load: &Load) -> (Duration, u64) {
        let running = load.start(self.address);
        std::thread::sleep(SPAN / 2); // until it is in its stride
        let bystanders = Bystanders::start(self.address);
        let mut most = 0;
        for _ in 0..20 {
            std::thread::sleep(SPAN / 20);
            most = most.max(self.running.resident());
        }
        let wait = bystanders.end();
        running.end();
        (wait, most)
    }
}

fn resources(port: u16, backends: &[Backend; 2]) -> String {
    let mut resources = manifests::gateway(&format!("{{name: http, protocol: HTTP, port: {port}}}"));
    for ((name, path), backend) in [("short", "/"), ("long", "/long")].into_iter().zip(backends) {
        resources += &manifests::prefix(name, path, backend.address.port());
    }
    resources
}

/// Puts an attack beside harmless load of its extent.
fn judge(name: &str, attack: fn() -> Client, harmless: fn() -> Client, connections: usize, rate: usize) {
    static ONE: Mutex<()> = Mutex::new(()); // two attacks at once would measure each other
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let world = World::start();
    let loads = [harmless, attack].map(|client| Load { client, connections, rate });
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        let (harmless, before) = world.beside(&loads[0]);
        let (attacked, most) = world.beside(&loads[1]);
        let ratio = attacked.as_secs_f64() / harmless.max(NOISE).as_secs_f64();
        println!("{name}: {attacked:?} beside {harmless:?} ({ratio:.2}), {before} and {most} bytes");
        assert!(most < before + MEMORY, "{name} costs memory: {before} bytes, then {most}");
        pairs.push(ratio);
        if ratio <= RATIO {
            return;
        }
    }
    panic!("{name} costs others time: {pairs:.2?} times what they waited before");
}
