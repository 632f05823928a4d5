//! `portcullis run` as an operator meets it: starting, refusing, reloading, draining.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use portcullis_e2e::files::replace;
use portcullis_e2e::{Portcullis, http, manifests, ports, program};
use serde_json::Value;

fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Asks until the answer is as wished; the event is on the other side of a socket.
fn eventually(what: &str, mut wished: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !wished() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn status(port: u16) -> Option<u16> {
    http::get(at(port), "a", "/").ok().map(|answer| answer.status)
}

#[test]
fn a_stand_in_answers_with_the_request_and_says_for_which_service() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free();
    fs::write(folder.path().join("all.yaml"), manifests::served(port)).unwrap();
    let _running = Portcullis::run(folder.path(), ["--echo"]);
    let answer = http::get(at(port), "shop.test", "/a/b?x=1").unwrap();
    let echoed: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(echoed["service"], "default/a");
    assert_eq!((echoed["path"].as_str(), echoed["query"].as_str()), (Some("/a/b"), Some("x=1")));
    assert_eq!(echoed["host"], "shop.test");
}

#[test]
fn a_stand_in_comes_and_goes_with_its_service() {
    let folder = tempfile::tempdir().unwrap();
    let (port, file) = (ports::free(), folder.path().join("all.yaml"));
    fs::write(&file, manifests::http(port)).unwrap();
    let _running = Portcullis::run(folder.path(), ["--echo"]);
    assert_eq!(status(port), Some(500), "the Service is missing");
    replace(&file, &manifests::served(port));
    eventually("the new Service is served", || status(port) == Some(200));
    replace(&file, &manifests::http(port));
    eventually("the Service is gone", || status(port) == Some(500));
}

#[test]
fn a_folder_without_gateways_is_ready_and_serves_what_comes() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free();
    fs::write(folder.path().join("service.yaml"), manifests::SERVICE).unwrap();
    let _running = Portcullis::run(folder.path(), ["--echo"]);
    fs::write(folder.path().join("all.yaml"), manifests::http(port)).unwrap();
    eventually("the Gateway is served", || status(port) == Some(200));
}

#[test]
fn all_that_is_wrong_at_the_start_is_said_at_once_and_nothing_is_served() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), "kind: [\n").unwrap();
    fs::write(folder.path().join("b.yaml"), manifests::served(0)).unwrap();
    let output =
        program::output(["run".as_ref(), folder.path().as_os_str(), "--admin".as_ref(), "off".as_ref()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("a.yaml:") && said.contains("b.yaml:11:"), "{said}");
}

#[test]
fn a_file_that_breaks_later_keeps_its_last_good_version() {
    let folder = tempfile::tempdir().unwrap();
    let (port, file) = (ports::free(), folder.path().join("all.yaml"));
    fs::write(&file, manifests::served(port)).unwrap();
    let _running = Portcullis::run(folder.path(), ["--echo"]);
    replace(&file, "kind: [\n");
    let later = folder.path().join("zz.yaml");
    let other = ports::free();
    let gateway = manifests::http(other).replace("name: web", "name: other").replace("name: r}", "name: r2}");
    fs::write(&later, gateway).unwrap();
    eventually("a good file beside it is served", || status(other) == Some(200));
    assert_eq!(status(port), Some(200));
}

#[test]
fn a_port_in_use_is_tried_again_and_the_rest_serves() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (port, other) = (taken.local_addr().unwrap().port(), ports::free());
    let listeners =
        format!("{{name: a, protocol: HTTP, port: {other}}}, {{name: b, protocol: HTTP, port: {port}}}");
    let text = [&manifests::gateway(&listeners), manifests::ROUTE, manifests::SERVICE].concat();
    fs::write(folder.path().join("all.yaml"), text).unwrap();
    let _running = Portcullis::run(folder.path(), ["--echo"]);
    assert_eq!(status(other), Some(200));
    drop(taken);
    eventually("the port is served once it is free", || status(port) == Some(200));
}

#[test]
fn sigterm_drains_and_exits_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free();
    fs::write(folder.path().join("all.yaml"), manifests::served(port)).unwrap();
    let mut running = Portcullis::run(folder.path(), ["--echo", "--drain-delay", "300ms"]);
    let mut kept = http::Connection::open(at(port)).unwrap();
    assert_eq!(kept.get("a", "/").unwrap().status, 200);
    running.terminate();
    eventually("readiness fails", || running.admin_get("/readyz").is_some_and(|answer| answer.status == 503));
    assert_eq!(status(port), Some(200), "new connections are taken while load balancers notice");
    assert_eq!(kept.get("a", "/").unwrap().status, 200);
    assert_eq!(running.wait(), Some(0));
}

#[test]
fn a_second_signal_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free();
    fs::write(folder.path().join("all.yaml"), manifests::served(port)).unwrap();
    let mut running = Portcullis::run(folder.path(), ["--echo", "--drain-delay", "1h"]);
    running.terminate();
    eventually("readiness fails", || running.admin_get("/readyz").is_some_and(|answer| answer.status == 503));
    running.terminate();
    assert_eq!(running.wait(), Some(0));
}

#[test]
fn what_is_served_is_printed_as_commands_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free();
    fs::write(folder.path().join("all.yaml"), manifests::served(port)).unwrap();
    let mut child = Command::new(program::binary())
        .arg("run")
        .arg(folder.path())
        .args(["--echo", "--bind", "127.0.0.1", "--admin", "off"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let command =
        lines.find_map(|line| line.unwrap().split_once("  #").map(|(command, _)| command.trim().to_owned()));
    let output = Command::new("sh").args(["-c", &format!("{} -s", command.unwrap())]).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let echoed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(echoed["service"], "default/a");
}
