//! Every value of `tls.options`, with the client that most people would try it with: `openssl s_client`.
//!
//! What the engine declares is walked, so that no value can be claimed that was never negotiated here. Each case is a
//! listener of one port, told apart by its server name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::process::{Command, Stdio};

use portcullis_e2e::{Authority, Portcullis, manifests, ports};
use portcullis_model::{CipherSuite, Curve, SignatureScheme, TlsVersion};
use portcullis_resolve::{Capabilities, Engine};

/// A listener's options, and what clients come to with it.
#[derive(Default)]
struct Case {
    options: Vec<(&'static str, String)>,
    tries: Vec<Try>,
}

/// A client's arguments, and what it says of the session; nothing if there is to be none.
struct Try {
    arguments: Vec<String>,
    says: Option<String>,
}

impl Case {
    fn with(mut self, option: &'static str, value: impl Into<String>) -> Case {
        self.options.push((option, value.into()));
        self
    }

    fn agrees(self, arguments: &[&str], says: impl Into<String>) -> Case {
        self.tried(arguments, Some(says.into()))
    }

    fn refuses(self, arguments: &[&str]) -> Case {
        self.tried(arguments, None)
    }

    fn tried(mut self, arguments: &[&str], says: Option<String>) -> Case {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self.tries.push(Try { arguments, says });
        self
    }
}

/// Serves the cases and tries each.
fn judge(cases: &[Case]) {
    let authority = Authority::default();
    let algorithms: [(&str, &'static rcgen::SignatureAlgorithm); 4] = [
        ("p256", &rcgen::PKCS_ECDSA_P256_SHA256),
        ("p384", &rcgen::PKCS_ECDSA_P384_SHA384),
        ("rsa", &rcgen::PKCS_RSA_SHA256),
        ("ed25519", &rcgen::PKCS_ED25519),
    ];
    let port = ports::free();
    let listeners = cases.iter().enumerate().map(|(number, case)| listener(number, port, &case.options));
    let mut resources = manifests::gateway(&listeners.collect::<Vec<_>>().join(", "));
    for (name, algorithm) in algorithms {
        resources += "---\n";
        resources += &authority.issue_signing(&["*.test"], algorithm).secret(name);
    }
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("ca.pem");
    fs::write(&trusted, authority.pem()).unwrap();
    fs::create_dir(folder.path().join("served")).unwrap();
    fs::write(folder.path().join("served/all.yaml"), resources).unwrap();
    let _running = Portcullis::run(&folder.path().join("served"), [] as [&str; 0]);
    for (number, case) in cases.iter().enumerate() {
        for Try { arguments, says } in &case.tries {
            let mut client = Command::new("openssl");
            client.args(["s_client", "-verify_return_error", "-connect", &format!("127.0.0.1:{port}")]);
            client.args(["-servername", &format!("case-{number}.test"), "-CAfile"]).arg(&trusted);
            let output = client.args(arguments).stdin(Stdio::null()).output().expect("openssl is installed");
            let said = String::from_utf8_lossy(&output.stdout);
            let what = format!("{arguments:?} at {:?}: {said}", case.options);
            match says {
                Some(says) => {
                    assert!(output.status.success(), "{what}");
                    assert!(said.contains(says), "no {says:?} of {what}");
                }
                None => assert!(!output.status.success(), "{what}"),
            }
        }
    }
}

fn listener(number: usize, port: u16, options: &[(&str, String)]) -> String {
    let options = options.iter().map(|(name, value)| format!("portcullis.dev/{name}: '{value}'"));
    let certificates = "[{name: p256}, {name: p384}, {name: rsa}, {name: ed25519}]";
    format!(
        "{{name: case-{number}, hostname: case-{number}.test, port: {port}, protocol: HTTPS, \
         tls: {{certificateRefs: {certificates}, options: {{{}}}}}}}",
        options.collect::<Vec<_>>().join(", ")
    )
}

/// What the engine says it can do.
fn declared() -> Capabilities {
    Engine::native_from_files().capabilities
}

/// As OpenSSL names a suite, and we do.
fn suite(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::EcdheEcdsaAes128GcmSha256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::EcdheRsaAes128GcmSha256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::EcdheEcdsaChacha20Poly1305 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::EcdheRsaChacha20Poly1305 => "ECDHE-RSA-CHACHA20-POLY1305",
        CipherSuite::EcdheEcdsaAes256GcmSha384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::EcdheRsaAes256GcmSha384 => "ECDHE-RSA-AES256-GCM-SHA384",
    }
}

#[test]
fn ciphers() {
    let declared: Vec<&str> = declared().cipher_suites.into_iter().map(suite).collect();
    let each = declared.iter().map(|name| {
        let others: Vec<&str> = declared.iter().copied().filter(|other| other != name).collect();
        Case::default()
            .with("ciphers", *name)
            .agrees(&["-tls1_2"], format!("Cipher is {name}"))
            .refuses(&["-tls1_2", "-cipher", &others.join(":")])
            .agrees(&["-tls1_3"], "TLSv1.3") // whose suites the option does not touch
    });
    // The server's order counts, and not the client's, among the suites that fit the certificate.
    let (first, second) = ("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256");
    let preferred = Case::default()
        .with("ciphers", format!("{first},{second}"))
        .agrees(&["-tls1_2", "-cipher", &format!("{second}:{first}")], format!("Cipher is {first}"));
    judge(&each.chain([preferred]).collect::<Vec<_>>());
}

/// As we name a group, as OpenSSL is asked for it, and how it says that it was taken; the latter by the release.
fn curve(curve: Curve) -> (&'static str, &'static str, &'static str) {
    match curve {
        Curve::X25519MlKem768 => ("X25519MLKEM768", "X25519MLKEM768", "X25519MLKEM768"),
        Curve::X25519 => ("X25519", "X25519", "X25519,"),
        Curve::P256 => ("P-256", "P-256", "prime256v1,"),
        Curve::P384 => ("P-384", "P-384", "secp384r1,"),
    }
}

/// Whether this OpenSSL has hybrid groups, which came with 3.5.
fn has_hybrids() -> bool {
    let listed =
        Command::new("openssl").args(["list", "-kem-algorithms"]).output().expect("openssl is installed");
    String::from_utf8_lossy(&listed.stdout).contains("X25519MLKEM768")
}

#[test]
fn curves() {
    let mut groups = declared().curves;
    if !has_hybrids() {
        eprintln!(
            "left out: X25519MLKEM768, which came with OpenSSL 3.5; the proxy's own tests negotiate it"
        );
        groups.remove(&Curve::X25519MlKem768);
    }
    let declared: Vec<_> = groups.into_iter().map(curve).collect();
    let mut cases = Vec::new();
    for (name, group, says) in &declared {
        let others: Vec<&str> =
            declared.iter().map(|(_, other, _)| *other).filter(|other| other != group).collect();
        let one = Case::default().with("ecdhCurves", *name).agrees(&["-groups", group], *says);
        cases.push(one.refuses(&["-groups", &others.join(":")]));
        // The server's order counts, and not the client's.
        for (other, other_group, _) in declared.iter().filter(|(other, ..)| other != name) {
            let groups = format!("{other_group}:{group}");
            let two = Case::default().with("ecdhCurves", format!("{name},{other}"));
            cases.push(two.agrees(&["-groups", &groups], *says));
        }
    }
    // In TLS 1.2 the groups of the client are also those of the certificates that it takes (RFC 8422 §5.1).
    let older = Case::default().with("ecdhCurves", "X25519").with("maximumVersion", "TLSv1_2");
    cases.push(older.agrees(&["-groups", "P-256:X25519"], "X25519,").refuses(&["-groups", "P-256"]));
    judge(&cases);
}

#[test]
fn versions() {
    let declared = declared().tls_versions;
    let named = |version: TlsVersion| match version {
        TlsVersion::V1_2 => ("TLSv1_2", "-tls1_2", "TLSv1.2"),
        TlsVersion::V1_3 => ("TLSv1_3", "-tls1_3", "TLSv1.3"),
    };
    let mut cases = Vec::new();
    for minimum in &declared {
        for maximum in declared.range(minimum..) {
            let options = Case::default()
                .with("minimumVersion", named(*minimum).0)
                .with("maximumVersion", named(*maximum).0)
                .agrees(&[], format!("New, {}", named(*maximum).2));
            cases.push(declared.iter().fold(options, |case, version| {
                let (_, argument, says) = named(*version);
                match (minimum..=maximum).contains(&version) {
                    true => case.agrees(&[argument], format!("New, {says}")),
                    false => case.refuses(&[argument]),
                }
            }));
        }
    }
    judge(&cases);
}

#[test]
fn application_protocols() {
    let case = |value: &str| Case::default().with("alpn-protocols", value);
    let agreed = |name: &str| format!("ALPN protocol: {name}");
    judge(&[
        Case::default().agrees(&["-alpn", "http/1.1,h2"], agreed("h2")),
        case("h2").agrees(&["-alpn", "http/1.1,h2"], agreed("h2")).refuses(&["-alpn", "http/1.1"]),
        case("http/1.1").agrees(&["-alpn", "h2,http/1.1"], agreed("http/1.1")).refuses(&["-alpn", "h2"]),
        case("h2,http/1.1").agrees(&["-alpn", "http/1.1,h2"], agreed("h2")),
        case("http/1.1,h2").agrees(&["-alpn", "h2,http/1.1"], agreed("http/1.1")),
    ]);
}

/// As RFC 8446, OpenSSL and we name a scheme; the digest and the sort of signature that OpenSSL says were taken.
fn scheme(scheme: SignatureScheme) -> (&'static str, &'static str, &'static str) {
    match scheme {
        SignatureScheme::EcdsaSecp256r1Sha256 => ("ecdsa_secp256r1_sha256", "SHA256", "ECDSA"),
        SignatureScheme::EcdsaSecp384r1Sha384 => ("ecdsa_secp384r1_sha384", "SHA384", "ECDSA"),
        SignatureScheme::RsaPssRsaeSha256 => ("rsa_pss_rsae_sha256", "SHA256", "RSA-PSS"),
        SignatureScheme::RsaPssRsaeSha384 => ("rsa_pss_rsae_sha384", "SHA384", "RSA-PSS"),
        SignatureScheme::RsaPssRsaeSha512 => ("rsa_pss_rsae_sha512", "SHA512", "RSA-PSS"),
        SignatureScheme::RsaPkcs1Sha256 => ("rsa_pkcs1_sha256", "SHA256", "RSA"),
        SignatureScheme::RsaPkcs1Sha384 => ("rsa_pkcs1_sha384", "SHA384", "RSA"),
        SignatureScheme::RsaPkcs1Sha512 => ("rsa_pkcs1_sha512", "SHA512", "RSA"),
        SignatureScheme::Ed25519 => ("ed25519", "", "ed25519"),
    }
}

#[test]
fn signature_algorithms() {
    let declared: Vec<_> = declared().signature_schemes.into_iter().map(scheme).collect();
    let cases = declared.iter().map(|(name, digest, sort)| {
        let others: Vec<&str> =
            declared.iter().map(|(other, ..)| *other).filter(|other| other != name).collect();
        // TLS 1.3 has no signatures of PKCS #1 (RFC 8446 §4.2.3).
        let version = if *sort == "RSA" { "-tls1_2" } else { "-tls1_3" };
        let says = match *digest {
            "" => format!("Peer signature type: {sort}"),
            digest => format!("Peer signing digest: {digest}\nPeer signature type: {sort}\n"),
        };
        Case::default().with("signatureAlgorithms", *name).agrees(&[version], says).refuses(&[
            version,
            "-sigalgs",
            &others.join(":"),
        ])
    });
    judge(&cases.collect::<Vec<_>>());
}
