//! The log of `portcullis run`: a line for what a reload changed and what came of it, and one for each cause.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use portcullis_e2e::files::replace;
use portcullis_e2e::{manifests, ports, program};

/// A running program and the lines of its log, without their times.
struct Logged {
    child: Child,
    lines: Receiver<String>,
}

impl Logged {
    fn run(path: &Path, options: &[&str]) -> Logged {
        let mut child = Command::new(program::binary())
            .arg("run")
            .arg(path)
            .args(["--bind", "127.0.0.1", "--admin", "off"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                let (_time, rest) = line.split_once(' ').unwrap_or(("", &line));
                if sender.send(rest.trim().to_owned()).is_err() {
                    break;
                }
            }
        });
        Logged { child, lines }
    }

    /// The next lines are these.
    fn expect<const N: usize>(&self, expected: [&str; N]) {
        let next = |_| self.lines.recv_timeout(Duration::from_secs(10)).expect("the log goes on");
        assert_eq!(expected.each_ref().map(next), expected);
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Listeners by name and port, and a route that names this parent.
fn serving(listeners: &[(&str, u16)], parent: &str) -> String {
    let listener = |(name, port): &(&str, u16)| format!("{{name: {name}, protocol: HTTP, port: {port}}}");
    let listeners = listeners.iter().map(listener).collect::<Vec<_>>().join(", ");
    let route = manifests::ROUTE.replace("name: web", &format!("name: {parent}"));
    format!("{}{route}{}", manifests::gateway(&listeners), manifests::SERVICE)
}

#[test]
fn a_reload_tells_what_changed_and_what_came_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.yaml");
    let (one, two) = (ports::free(), ports::free());
    let (one, two) = (one.min(two), one.max(two));
    let both = [("a", one), ("b", two)];
    fs::write(&file, serving(&both, "wbe")).unwrap();
    let running = Logged::run(folder.path(), &[]);
    running.expect([
        &format!("INFO listening local=127.0.0.1:{one} transport=tcp"),
        &format!("INFO listening local=127.0.0.1:{two} transport=tcp"),
        &format!(
            "WARN parent Gateway wbe does not exist or is not ours object=HTTPRoute/default/r code=\"PC0404\" \
             place={}:17:16",
            file.display()
        ),
    ]);
    replace(&file, &serving(&both, "web"));
    running.expect([
        "INFO reloaded: 1 changed (HTTPRoute/default/r)",
        "INFO no longer: parent Gateway wbe does not exist or is not ours object=HTTPRoute/default/r code=\"PC0404\"",
    ]);
    replace(&file, &serving(&both[..1], "web"));
    running.expect([
        "INFO reloaded: 1 changed (Gateway/default/web)",
        &format!("INFO no longer listening local=127.0.0.1:{two} transport=tcp"),
    ]);
    fs::remove_file(&file).unwrap();
    running.expect([
        &format!(
            "WARN no .yaml, .yml or .json file here place={}:1:1 code=\"PC0107\" \
             hint=\"name a folder that has .yaml, .yml or .json files\"",
            folder.path().display()
        ),
        "INFO reloaded: 4 removed (GatewayClass/portcullis, Gateway/default/web, HTTPRoute/default/r, and 1 more)",
        &format!("INFO no longer listening local=127.0.0.1:{one} transport=tcp"),
    ]);
}

/// However many conditions it turns, a port that another process has is one cause.
#[test]
fn a_second_instance_says_once_for_each_port_that_it_cannot_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free();
    let other = folder.path().join("all.yaml");
    fs::write(&other, serving(&[("a", port)], "web")).unwrap();
    let first = Logged::run(folder.path(), &[]);
    first.expect([&format!("INFO listening local=127.0.0.1:{port} transport=tcp")]);
    let second = Logged::run(folder.path(), &[]);
    second.expect([&format!(
        "WARN cannot listen on 127.0.0.1:{port}: the port is in use; another process has it (`ss -lntup` names it): \
         stop that, or choose another port"
    )]);
    // Nothing else was said: the next line is of the next event.
    replace(&other, &serving(&[("a", port)], "wbe"));
    second.expect(["INFO reloaded: 1 changed (HTTPRoute/default/r)"]);
}

/// What the command line lets anybody do, and what it says in vain.
#[test]
fn options_for_the_proxy_protocol_that_are_probably_not_meant_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (port, other) = (ports::free(), ports::free());
    fs::write(folder.path().join("all.yaml"), serving(&[("a", port)], "web")).unwrap();
    let (port_text, other_text) = (port.to_string(), other.to_string());
    let believing = Logged::run(folder.path(), &["--proxy-protocol", &port_text]);
    believing.expect([
        "WARN --proxy-protocol without --trusted-proxies: whoever reaches the port says which client they are; name \
         the load balancers' networks",
        &format!("INFO listening local=127.0.0.1:{port} transport=tcp"),
    ]);
    drop(believing);
    let trust = ["--trusted-proxies", "127.0.0.0/8", "--proxy-protocol"];
    let mistyped = Logged::run(folder.path(), &[&trust[..], &[&other_text]].concat());
    mistyped.expect([
        &format!("INFO listening local=127.0.0.1:{port} transport=tcp"),
        &format!("WARN --proxy-protocol {other}: no listener has this port"),
    ]);
}
