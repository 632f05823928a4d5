use portcullis_model::{CipherSuite, Curve, SignatureScheme};

use super::*;

fn read(protocol: Protocol, options: &[(&str, &str)]) -> Result<Options, Vec<String>> {
    let raw = options.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect();
    let faults = |faults: Vec<OptionFault>| faults.iter().map(ToString::to_string).collect();
    parse(&raw, protocol, &Capabilities::native()).map_err(faults)
}

/// What is not set has the same defaults in every engine.
#[test]
fn nothing_set() {
    let options = read(Protocol::Https, &[]).unwrap();
    assert_eq!(options.options, TlsOptions::default());
    assert!(options.dropped.is_empty() && options.foreign.is_empty());
}

/// Lists keep their order, and blanks around items do not count.
#[test]
fn lists_in_order() {
    let options = read(
        Protocol::Https,
        &[
            ("portcullis.dev/alpn-protocols", " http/1.1 , h2"),
            ("microgateway.airlock.com/ecdhCurves", "P-384,X25519"),
            ("portcullis.dev/ciphers", "ECDHE-RSA-AES256-GCM-SHA384"),
            ("portcullis.dev/signatureAlgorithms", "ed25519,rsa_pkcs1_sha256"),
            ("portcullis.dev/minimumVersion", "TLSv1_3"),
        ],
    );
    let options = options.unwrap().options;
    assert_eq!(options.alpn, [Alpn::Http11, Alpn::H2]);
    assert_eq!(options.curves, [Curve::P384, Curve::X25519]);
    assert_eq!(options.cipher_suites, [CipherSuite::EcdheRsaAes256GcmSha384]);
    assert_eq!(options.signature_schemes, [SignatureScheme::Ed25519, SignatureScheme::RsaPkcs1Sha256]);
    assert_eq!((options.min_version, options.max_version), (TlsVersion::V1_3, TlsVersion::V1_3));
}

/// A known value that the engine lacks is left out, and said so.
#[test]
fn lacking_values_are_dropped() {
    let options = read(
        Protocol::Https,
        &[
            ("portcullis.dev/ecdhCurves", "P-521,P-256"),
            ("portcullis.dev/ciphers", "AES128-SHA,ECDHE-RSA-AES128-GCM-SHA256"),
            ("portcullis.dev/minimumVersion", "TLSv1_0"),
        ],
    );
    let options = options.unwrap();
    assert_eq!(options.options.curves, [Curve::P256]);
    assert_eq!(options.options.min_version, TlsVersion::V1_2);
    let dropped = [
        "portcullis.dev/minimumVersion TLSv1_0",
        "portcullis.dev/ciphers AES128-SHA",
        "portcullis.dev/ecdhCurves P-521",
    ];
    assert_eq!(options.dropped, dropped);
}

/// Keys of other domains mean nothing to us.
#[test]
fn foreign_keys() {
    let options = read(Protocol::Https, &[("example.com/x", "y")]).unwrap();
    assert_eq!(options.foreign, [Arc::from("example.com/x")]);
}

/// One option under both prefixes must say the same.
#[test]
fn both_prefixes() {
    let one = ("portcullis.dev/ecdhCurves", "X25519,P-256");
    assert!(read(Protocol::Https, &[one, ("microgateway.airlock.com/ecdhCurves", "X25519, P-256")]).is_ok());
    let faults = read(Protocol::Https, &[one, ("microgateway.airlock.com/ecdhCurves", "P-256")]).unwrap_err();
    assert_eq!(
        faults,
        [
            r#"portcullis.dev/ecdhCurves: "X25519,P-256" contradicts "P-256" of microgateway.airlock.com/ecdhCurves"#
        ]
    );
}

/// What refuses the listener, naming key and value.
#[test]
fn refusals() {
    for (protocol, key, value, why) in [
        (Protocol::Https, "portcullis.dev/unheard", "1", r#"there is no such option (value "1")"#),
        (Protocol::Https, "ciphers", "x", r#"a key without a prefix is reserved (value "x")"#),
        (Protocol::Https, "portcullis.dev/alpn-protocols", "h2,", r#"an item of "h2," is empty"#),
        (Protocol::Https, "portcullis.dev/alpn-protocols", "h2, h2", r#""h2" is repeated"#),
        (Protocol::Https, "portcullis.dev/alpn-protocols", "h3", r#""h3" is unknown"#),
        (Protocol::Https, "portcullis.dev/ecdhCurves", "P-521", r#"nothing of "P-521" can be served"#),
        (
            Protocol::Https,
            "portcullis.dev/minimumVersion",
            "1.2",
            r#""1.2" is none of TLSv1_0, TLSv1_1, TLSv1_2, TLSv1_3"#,
        ),
        (
            Protocol::Https,
            "portcullis.dev/maximumVersion",
            "TLSv1_1",
            r#""TLSv1_1" is below TLSv1_2, the lowest version served"#,
        ),
        (
            Protocol::Http3,
            "portcullis.dev/maximumVersion",
            "TLSv1_2",
            r#""TLSv1_2" is below TLSv1_3, which HTTP/3 needs"#,
        ),
    ] {
        assert_eq!(read(protocol, &[(key, value)]).unwrap_err(), [format!("{key}: {why}")]);
    }
    let least = [("portcullis.dev/maximumVersion", "TLSv1_3")];
    assert!(read(Protocol::Http3, &least).is_ok(), "what HTTP/3 needs is enough");
    let both = [("portcullis.dev/minimumVersion", "TLSv1_3"), ("portcullis.dev/maximumVersion", "TLSv1_2")];
    let faults = read(Protocol::Https, &both).unwrap_err();
    assert_eq!(faults, [r#"portcullis.dev/minimumVersion: "TLSv1_3" is above the maximum version"#]);
}
