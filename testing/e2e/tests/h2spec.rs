//! The HTTP/2 side of listeners, judged by h2spec, a client that tries a server clause by clause. It was written for
//! RFC 7540; RFC 9113, which took its place, allows a little more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use portcullis_e2e::{Authority, Portcullis, manifests, ports, program};
use portcullis_golang::{Output, Program};

/// How many cases h2spec 2.2.1 has, the strict ones included.
const CASES: usize = 146;

/// The program; none where there is no Go.
fn h2spec() -> Option<PathBuf> {
    if !portcullis_golang::is_usable() {
        return None;
    }
    let program = Program {
        sources: program::root().join("testing/h2spec"),
        name: "h2spec",
        toolchain: "auto",
        linker_flags: "-s -w",
        output: Output::Package("github.com/summerwind/h2spec/cmd/h2spec"),
    };
    Some(program.build().expect("it builds"))
}

/// A Gateway with a listener in clear and one over TLS, which take every host and lead to a stand-in.
fn resources(clear: u16, tls: u16) -> String {
    let pair = Authority::default().issue(&["localhost"]);
    let listeners = format!(
        "{{name: http, protocol: HTTP, port: {clear}}}, \
         {{name: https, protocol: HTTPS, port: {tls}, tls: {{certificateRefs: [{{name: pair}}]}}}}"
    );
    let indented = |pem: &str| pem.replace('\n', "\n    ");
    let secret = format!(
        "---
apiVersion: v1
kind: Secret
metadata: {{name: pair}}
type: kubernetes.io/tls
stringData:
  tls.crt: |
    {}
  tls.key: |
    {}
",
        indented(&pair.certificate),
        indented(&pair.key)
    );
    [&manifests::gateway(&listeners), manifests::ROUTE, manifests::SERVICE, &secret].concat()
}

/// Runs all cases and returns how many there were, and the titles of those that failed.
fn judge(h2spec: &PathBuf, port: u16, arguments: &[&str]) -> (usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.xml");
    let mut command = Command::new(h2spec);
    command.args(["--strict", "--timeout", "5", "--port", &port.to_string()]).args(arguments);
    command.arg("--junit-report").arg(&report).stdout(Stdio::null());
    command.status().expect("it starts");
    let report = fs::read_to_string(report).expect("it reports");
    let cases: Vec<&str> = report.split("<testcase ").skip(1).collect();
    let failed = cases.iter().filter(|case| case.contains("<error>") || case.contains("<failure>"));
    let title = |case: &&str| case.split('"').nth(3).unwrap_or_default().to_owned();
    (cases.len(), failed.map(title).collect())
}

#[test]
fn every_clause_holds_over_tls_and_in_clear() {
    let Some(h2spec) = h2spec() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (clear, tls) = (ports::free(), ports::free());
    fs::write(folder.path().join("all.yaml"), resources(clear, tls)).unwrap();
    let _running = Portcullis::run(folder.path(), ["--echo"]);
    assert_eq!(judge(&h2spec, tls, &["--tls", "--insecure"]), (CASES, Vec::new()));
    // In clear a listener serves HTTP/1.1 too. What does not begin with the preface is a request of HTTP/1.1, and a
    // malformed one: it is answered with 400 and the connection is closed. RFC 9113 §3.4 lets a server that gets an
    // invalid preface do without GOAWAY, since the peer does not speak HTTP/2; h2spec wants a close without an answer.
    assert_eq!(judge(&h2spec, clear, &[]), (CASES, vec!["Sends invalid connection preface".to_owned()]));
}
