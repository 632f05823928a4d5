//! A real browser: Chromium loads a page over HTTPS, fetches beside it, and talks over a WebSocket, by HTTP/3, HTTP/2 and
//! HTTP/1.1.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::env;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use portcullis_e2e::certificates::Pair;
use portcullis_e2e::{Authority, Backend, Portcullis, manifests, ports, program};
use rcgen::PublicKeyData;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Fetches, says something over a WebSocket, and then says there what it saw.
const PAGE: &str = r#"<!doctype html>
<title>a page</title>
<script>
  const fetched = [...Array(20).keys()].map(n => fetch("/" + n).then(answer => answer.status));
  Promise.all(fetched).then(statuses => {
    const socket = new WebSocket("wss://" + location.host + "/websocket");
    let first = true;
    socket.onopen = () => socket.send("a word");
    socket.onmessage = event => {
      if (!first) return;
      first = false;
      const protocol = performance.getEntriesByType("navigation")[0].nextHopProtocol;
      const saw = {protocol, statuses, secure: isSecureContext, heard: event.data};
      socket.send(JSON.stringify(saw));
    };
  });
</script>
"#;

/// Whether there is a browser. `cargo xtask test` installs it; elsewhere the test is skipped, saying so.
fn is_usable() -> bool {
    if Command::new("chromium").arg("--version").stdout(Stdio::null()).status().is_ok_and(|it| it.success()) {
        return true;
    }
    assert!(env::var("CI").as_deref() != Ok("true"), "chromium is not installed");
    eprintln!("skipped: chromium is not installed");
    false
}

/// A backend for WebSockets that says back what is said, and passes on what was said in JSON.
fn backend(heard: Sender<Value>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let heard = heard.clone();
            thread::spawn(move || {
                let Ok(mut socket) = tungstenite::accept(stream) else { return };
                while let Ok(message) = socket.read() {
                    if let Ok(report) = serde_json::from_str(message.to_text().unwrap_or_default()) {
                        let _ = heard.send(report);
                    }
                    let _ = socket.send(message);
                }
            });
        }
    });
    address
}

/// Three listeners of one port, one of which has HTTP/3 and one not even HTTP/2, and a route for pages and one for
/// WebSockets.
fn resources(port: u16, pair: &Pair, pages: SocketAddr, websockets: SocketAddr) -> String {
    let listener = |name: &str, protocol: &str, options: &str| {
        format!(
            "{{name: {name}, hostname: {name}.test, port: {port}, protocol: {protocol}, \
             tls: {{certificateRefs: [{{name: pair}}], options: {{{options}}}}}}}"
        )
    };
    let listeners = [
        listener("three", "microgateway.airlock.com/http3", ""),
        listener("two", "HTTPS", ""),
        listener("one", "HTTPS", "portcullis.dev/alpn-protocols: http/1.1"),
    ];
    let mut resources = manifests::gateway(&listeners.join(", "));
    for (name, path, backend) in [("pages", "/", pages), ("websockets", "/websocket", websockets)] {
        resources += &manifests::prefix(name, path, backend.port());
    }
    resources + "---\n" + &pair.secret("pair")
}

/// A browser at a page, ended with this value.
struct Browser(Child, #[expect(dead_code, reason = "its profile goes with it")] tempfile::TempDir);

impl Browser {
    /// It trusts the key of one certificate beside the authorities that everybody trusts.
    fn open(url: &str, port: u16, trusted: &Pair) -> Browser {
        let key = rcgen::KeyPair::from_pem(&trusted.key).unwrap().subject_public_key_info();
        let key = BASE64_STANDARD.encode(Sha256::digest(key));
        let profile = tempfile::tempdir().unwrap();
        let child = Command::new("chromium")
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--host-resolver-rules=MAP *.test 127.0.0.1"])
            .arg(format!("--ignore-certificate-errors-spki-list={key}"))
            .arg(format!("--origin-to-force-quic-on=three.test:{port}")) // at once: it heeds Alt-Svc the next time
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Browser(child, profile)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked, it ends its own processes, too.
        let _ = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}

/// What a page sees that is loaded from a host.
fn seen(reports: &Receiver<Value>, host: &str, port: u16, trusted: &Pair) -> Value {
    let _browser = Browser::open(&format!("https://{host}:{port}/"), port, trusted);
    reports.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("no word from {host}"))
}

#[test]
fn a_browser_loads_fetches_and_talks() {
    if !is_usable() {
        return;
    }
    program::binary(); // building it takes time of its own
    let pages = Backend::named(PAGE);
    let (heard, reports) = channel();
    let pair = Authority::default().issue(&["one.test", "two.test", "three.test"]);
    let port = ports::free();
    let folder = tempfile::tempdir().unwrap();
    let resources = resources(port, &pair, pages.address, backend(heard));
    fs::write(folder.path().join("all.yaml"), resources).unwrap();
    let _running = Portcullis::run(folder.path(), [] as [&str; 0]);
    for (host, protocol) in [("three.test", "h3"), ("two.test", "h2"), ("one.test", "http/1.1")] {
        let saw = json!({"protocol": protocol, "statuses": vec![200; 20], "secure": true, "heard": "a word"});
        assert_eq!(seen(&reports, host, port, &pair), saw);
    }
}
