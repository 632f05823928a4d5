//! gRPC through the gateway with the Go implementation at both ends: the interoperability tests that gRPC asks of its
//! own clients and servers, and grpcurl, in clear and over TLS to the backend too.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use portcullis_e2e::{Authority, Portcullis, manifests, ports, program};
use portcullis_golang::{Output, Program};

/// Every case that needs no cloud. All sorts of calls are among them: unary, streams of the client, of the server, and
/// of both.
const CASES: [&str; 15] = [
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "timeout_on_sleeping_server",
    "cancel_after_begin",
    "cancel_after_first_response",
    "status_code_and_message",
    "special_status_message",
    "custom_metadata",
    "unimplemented_method",
    "unimplemented_service",
    "rpc_soak",
];

/// A program of the module; none where there is no Go.
fn built(name: &'static str, package: &'static str) -> Option<PathBuf> {
    if !portcullis_golang::is_usable() {
        return None;
    }
    let sources = program::root().join("testing/grpc");
    let output = Output::Package(package);
    let program = Program { sources, name, toolchain: "auto", linker_flags: "-s -w", output };
    Some(program.build().expect("it builds"))
}

/// A server of the interoperability tests, ended with this value.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(program: &Path, arguments: &[&Path]) -> Server {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let port = address.trim().rsplit(':').next().unwrap().parse().unwrap();
        Server { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A listener in clear that leads to a server in clear, and one over TLS that leads to one over TLS.
struct World {
    _servers: [Server; 2],
    _gateway: Portcullis,
    folder: tempfile::TempDir,
    clear: u16,
    tls: u16,
}

impl World {
    fn start() -> Option<World> {
        let server = built("grpc-server", ".")?;
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let authority = Authority::default();
        let (edge, inside) = (authority.issue(&["edge.test"]), authority.issue(&["inside.test"]));
        fs::write(file("ca.pem"), authority.pem()).unwrap();
        fs::write(file("inside.crt"), &inside.certificate).unwrap();
        fs::write(file("inside.key"), &inside.key).unwrap();
        let (certificate, key) = (file("inside.crt"), file("inside.key"));
        let servers = [
            Server::start(&server, &[]),
            Server::start(&server, &["-certificate".as_ref(), &certificate, "-key".as_ref(), &key]),
        ];
        let (clear, tls) = (ports::free(), ports::free());
        let listeners = format!(
            "{{name: clear, protocol: HTTP, port: {clear}}}, \
             {{name: tls, protocol: HTTPS, port: {tls}, tls: {{certificateRefs: [{{name: edge}}]}}}}"
        );
        let mut resources = manifests::gateway(&listeners);
        for (name, server) in ["clear", "tls"].iter().zip(&servers) {
            resources += &led(name, server.port);
        }
        resources += &guarded(&authority.pem());
        resources += "---\n";
        resources += &edge.secret("edge");
        let served = folder.path().join("resources");
        fs::create_dir(&served).unwrap();
        fs::write(served.join("all.yaml"), resources).unwrap();
        let gateway = Portcullis::run(&served, [] as [&str; 0]);
        Some(World { _servers: servers, _gateway: gateway, folder, clear, tls })
    }

    fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }
}

/// A route of a listener to a Service of the listener's name.
fn led(name: &str, port: u16) -> String {
    let route = format!(
        r#"---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {{name: {name}}}
spec:
  parentRefs: [{{name: web, sectionName: {name}}}]
  rules:
  - matches:
    - method: {{service: grpc.testing.TestService}}
    - method: {{type: RegularExpression, service: "grpc\\.reflection\\..*"}}
    backendRefs: [{{name: {name}, port: 80}}]
"#
    );
    route + &manifests::service(name, port)
}

/// How the Service `tls` is to be met.
fn guarded(authority: &str) -> String {
    format!(
        r#"---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {{name: tls}}
spec:
  targetRefs: [{{group: "", kind: Service, name: tls}}]
  validation: {{hostname: inside.test, caCertificateRefs: [{{group: "", kind: ConfigMap, name: inside}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: inside}}
data:
  ca.crt: |
    {}
"#,
        authority.trim_end().replace('\n', "\n    ")
    )
}

#[test]
fn every_case_of_interoperability_passes() {
    let Some(client) = built("grpc-interop-client", "google.golang.org/grpc/interop/client") else { return };
    let world = World::start().expect("there is Go");
    let run = |case: &str, port: u16, more: &[String]| {
        let mut command = Command::new(&client);
        command.args([&format!("--test_case={case}"), &format!("--server_port={port}")]);
        let output = command.args(["--server_host=127.0.0.1"]).args(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{case} at {port}: {said}");
    };
    let authority = format!("--ca_file={}", world.authority().display());
    let tls = ["--use_tls", "--use_test_ca", "--server_host_override=edge.test", &authority];
    for case in CASES {
        run(case, world.clear, &[]);
        run(case, world.tls, &tls.map(str::to_owned));
    }
}

#[test]
fn grpcurl_asks_and_calls() {
    let Some(grpcurl) = built("grpcurl", "github.com/fullstorydev/grpcurl/cmd/grpcurl") else { return };
    let world = World::start().expect("there is Go");
    let authority = world.authority();
    let (clear, tls) = (format!("127.0.0.1:{}", world.clear), format!("127.0.0.1:{}", world.tls));
    let secure = ["-cacert", authority.to_str().unwrap(), "-authority", "edge.test"];
    for (address, how) in [(clear, &["-plaintext"][..]), (tls, &secure)] {
        let run = |before: &[&str], after: &[&str]| {
            let mut command = Command::new(&grpcurl);
            let output = command.args(how).args(before).arg(&address).args(after).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{after:?} at {address}: {said}");
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(run(&[], &["list"]).contains("grpc.testing.TestService"));
        assert!(run(&[], &["describe", "grpc.testing.TestService.FullDuplexCall"]).contains("stream"));
        let unary = run(&["-d", r#"{"responseSize": 3}"#], &["grpc.testing.TestService/UnaryCall"]);
        assert!(unary.contains(r#""body": "AAAA""#), "{unary}");
        let twice =
            r#"{"responseParameters": [{"size": 1}, {"size": 2}]} {"responseParameters": {"size": 3}}"#;
        let duplex = run(&["-d", twice], &["grpc.testing.TestService/FullDuplexCall"]);
        assert_eq!(duplex.matches("payload").count(), 3, "{duplex}");
    }
}
