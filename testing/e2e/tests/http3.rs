//! HTTP/3 with clients that others wrote: quic-go, and aioquic where Python can have it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portcullis_e2e::{Authority, Portcullis, manifests, ports, program};
use portcullis_golang::{Output, Program, cache_folder};

/// A gateway with a listener for HTTP/3, and a backend that sends bodies back.
struct World {
    _gateway: Portcullis,
    folder: tempfile::TempDir,
    port: u16,
    offset: u16,
}

impl World {
    fn start() -> World {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::default();
        fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        let offset = ports::free_offset(&[443]);
        let listener = "{name: h3, protocol: microgateway.airlock.com/http3, port: 443, hostname: edge.test, \
                        tls: {certificateRefs: [{name: edge}]}}";
        let resources = [
            manifests::gateway(listener),
            manifests::ROUTE.to_owned(),
            service(echo()),
            authority.issue(&["edge.test"]).secret("edge"),
        ];
        let served = folder.path().join("resources");
        fs::create_dir(&served).unwrap();
        fs::write(served.join("all.yaml"), resources.join("\n---\n")).unwrap();
        let arguments =
            ["--port-offset".to_owned(), offset.to_string(), "--workers".to_owned(), "3".to_owned()];
        let gateway = Portcullis::run(&served, arguments);
        World { _gateway: gateway, folder, port: 443 + offset, offset }
    }

    fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }
}

/// The Service of the route, which leads to an address.
fn service(backend: SocketAddr) -> String {
    format!(
        "\
apiVersion: v1
kind: Service
metadata: {{name: a}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: a, labels: {{kubernetes.io/service-name: a}}}}
addressType: IPv4
endpoints: [{{addresses: [\"{}\"]}}]
ports: [{{port: {}}}]
",
        backend.ip(),
        backend.port()
    )
}

/// A backend of HTTP/1.1 that answers with a request's body, or with its method and path; to `/never` it does not.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(&stream.unwrap()));
        }
    });
    address
}

fn serve(stream: &TcpStream) {
    let mut input = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|read| read > 2) {
            head.push(std::mem::take(&mut line));
            if head.len() > 1 {
                head.last_mut().unwrap().make_ascii_lowercase();
            }
        }
        let Some(first) = head.first() else { return };
        let said = first.rsplit_once(' ').unwrap().0.to_owned();
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let body = match (length, chunked(&head)) {
            (Some(length), _) => {
                let mut body = vec![0; length.trim().parse().unwrap()];
                input.read_exact(&mut body).unwrap();
                body
            }
            (None, true) => dechunked(&mut input),
            (None, false) => said.clone().into_bytes(),
        };
        if said.ends_with("/never") {
            let _ = input.read(&mut [0]); // until the other side has had enough
            return;
        }
        let shown = if said.starts_with("HEAD") { &[][..] } else { &body };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        if { stream }.write_all(&[answer.as_bytes(), shown].concat()).is_err() {
            return;
        }
    }
}

fn chunked(head: &[String]) -> bool {
    head.iter().any(|line| line.trim() == "transfer-encoding: chunked")
}

/// A body in chunks, and its trailers.
fn dechunked(input: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        let size = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; size];
        input.read_exact(&mut chunk).unwrap();
        body.extend_from_slice(&chunk);
        line.clear();
        while size == 0 && input.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        if size == 0 {
            return body;
        }
        input.read_exact(&mut [0; 2]).unwrap();
    }
}

/// What a client says has worked.
fn steps(client: &mut Command) -> Vec<String> {
    let output = client.stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "it got as far as {said:?}");
    said.lines().map(str::to_owned).collect()
}

#[test]
fn quic_go_is_served() {
    if !portcullis_golang::is_usable() {
        return;
    }
    let sources = program::root().join("testing/http3");
    let (output, linker_flags) = (Output::Package("."), "-s -w");
    let client = Program { sources, name: "http3", toolchain: "auto", linker_flags, output }.build().unwrap();
    let world = World::start();
    let address = format!("127.0.0.1:{}", world.port);
    let mut command = Command::new(client);
    command.args(["-address", &address, "-host", "edge.test", "-ca"]).arg(world.authority());
    assert_eq!(steps(&mut command), ["get", "head", "body", "many at once", "cancelled", "migration"]);
}

/// Python with what the client needs, kept outside the tree; none where it cannot be had.
fn python() -> Option<PathBuf> {
    let requirements = program::root().join("testing/http3/requirements.txt");
    let pinned = fs::read_to_string(&requirements).unwrap();
    let folder = cache_folder().join("tools").join(pinned.trim().replace("==", "-"));
    let python = folder.join("bin/python");
    if !folder.join("complete").exists() {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
        made.ok().filter(std::process::ExitStatus::success)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        let installed = Command::new(&python).args(pip).arg(&requirements).status();
        installed.ok().filter(std::process::ExitStatus::success)?;
        fs::write(folder.join("complete"), "").unwrap();
    }
    Some(python)
}

#[test]
fn aioquic_is_served() {
    let Some(python) = python() else { return };
    let world = World::start();
    let mut command = Command::new(python);
    command.arg(Path::new("testing/http3/client.py")).current_dir(program::root());
    command.args(["--port", &world.port.to_string(), "--host", "edge.test", "--ca"]).arg(world.authority());
    let expected =
        ["get", "body", "trailers", "many_at_once", "other_connection_ids", "other_keys", "malformed"];
    assert_eq!(steps(&mut command), expected);
}

/// Clients that come by TCP learn the port that they have to ask, the offset included.
#[test]
fn answers_over_tls_say_where_http3_is() {
    let world = World::start();
    let output = Command::new("curl")
        .args(["-sS", "-o", "/dev/null", "-D", "-", "--cacert"])
        .arg(world.authority())
        .args(["--resolve", &format!("edge.test:{}:127.0.0.1", world.port)])
        .arg(format!("https://edge.test:{}/", world.port))
        .output()
        .unwrap();
    let head = String::from_utf8(output.stdout).unwrap();
    let said = head.lines().find_map(|line| line.strip_prefix("alt-svc: "));
    assert_eq!(said.map(str::trim), Some(&*format!("h3=\":{}\"; ma=86400", 443 + world.offset)), "{head}");
}
