//! [`Backend`] of Envoy Gateway: endpoints that no Service has.

use std::sync::Arc;

use serde_json::json;

use crate::{
    backend_tls_policy::WellKnownCaCertificates,
    cel::backends,
    hostname::PreciseHostname,
    patterns::{FQDN, IP_ADDRESS},
    references::{LocalObjectRef, SecretObjectRef},
    resource::resource,
    schema::{object, open_enum},
    status::{Condition, MAX_CONDITIONS},
    text::text,
};

resource! {
    /// Endpoints by address, name or Unix socket.
    pub struct Backend: Backend {
        spec: BackendSpec,
        status: BackendStatus,
    }
}

object! {
    /// What a Backend consists of.
    #[derive(Eq)]
    pub struct BackendSpec {
        /// Whether endpoints are listed.
        pub backend_type as "type": BackendType = json!("Endpoints"),
        /// The endpoints.
        pub endpoints: Vec<BackendEndpoint> [.items(1, 256).rules(&[&backends::FQDN_UNMIXED])],
        /// What endpoints speak beyond HTTP/1.1.
        pub app_protocols as "appProtocols": Vec<AppProtocol>,
        /// Whether it is used only when others of the rule are unhealthy.
        pub fallback: Option<bool>,
        /// TLS towards the endpoints.
        pub tls: Option<BackendTls>,
    }
    rules backends::BACKEND
}

open_enum! {
    /// Types of Backends.
    pub enum BackendType {
        /// The endpoints are listed.
        Endpoints = "Endpoints",
        /// The request's host is resolved.
        DynamicResolver = "DynamicResolver",
    }
}

open_enum! {
    /// What a Backend's endpoints speak.
    pub enum AppProtocol {
        /// HTTP/2 in clear.
        H2c = "gateway.envoyproxy.io/h2c",
        /// WebSocket.
        Ws = "gateway.envoyproxy.io/ws",
        /// WebSocket over TLS.
        Wss = "gateway.envoyproxy.io/wss",
    }
}

object! {
    /// One endpoint, by exactly one of `fqdn`, `ip` and `unix`.
    #[derive(Eq)]
    pub struct BackendEndpoint {
        /// A name that is resolved, again and again.
        pub fqdn: Option<FqdnEndpoint>,
        /// An address.
        pub ip: Option<IpEndpoint>,
        /// A Unix socket.
        pub unix: Option<UnixSocket>,
        /// The endpoint's own host name, for host rewrites and server names.
        pub hostname: Option<PreciseHostname>,
        /// The zone that the endpoint is in.
        pub zone: Option<Arc<str>>,
    }
    rules backends::ENDPOINT
}

text! {
    /// A domain name, perhaps with trailing dot.
    pub struct Fqdn { min_length: 1, max_length: 253, pattern: &FQDN }
}

object! {
    /// An endpoint by name.
    #[derive(Eq)]
    pub struct FqdnEndpoint {
        /// The name.
        pub hostname: Fqdn,
        /// The port; the CRD admits 0.
        pub port: u16 [.range(0, 65_535)],
    }
}

text! {
    /// An IP address as the CRD's pattern takes it. The pattern takes texts that are no address.
    pub struct AddressText { min_length: 3, max_length: 45, pattern: &IP_ADDRESS }
}

object! {
    /// An endpoint by address.
    #[derive(Eq)]
    pub struct IpEndpoint {
        /// The address.
        pub address: AddressText,
        /// The port; the CRD admits 0.
        pub port: u16 [.range(0, 65_535)],
    }
}

object! {
    /// An endpoint by Unix socket.
    #[derive(Eq)]
    pub struct UnixSocket {
        /// The path of the socket, at most 108 characters.
        pub path: Arc<str> [.rules(&[&backends::SOCKET_PATH])],
    }
}

object! {
    /// TLS towards a Backend's endpoints.
    #[derive(Eq)]
    pub struct BackendTls {
        /// The CA certificates that they must descend from.
        pub ca_certificate_refs as "caCertificateRefs": Vec<LocalObjectRef> [.max_items(8)],
        /// The CA certificates by a well-known name, instead.
        pub well_known_ca_certificates as "wellKnownCACertificates":
            Option<WellKnownCaCertificates>,
        /// Whether certificates are taken unseen.
        pub insecure_skip_verify as "insecureSkipVerify": bool = json!(false),
        /// The server name to send.
        pub sni: Option<PreciseHostname>,
        /// Whether the server name is that of the endpoint.
        pub auto_sni_from_endpoint_hostname as "autoSNIFromEndpointHostname": Option<bool>,
        /// The certificate to show.
        pub client_certificate_ref as "clientCertificateRef": Option<SecretObjectRef>,
        /// The lowest version of TLS.
        pub min_version as "minVersion": Option<TlsVersion>,
        /// The highest version of TLS.
        pub max_version as "maxVersion": Option<TlsVersion>,
        /// Cipher suites, by OpenSSL's names, for TLS 1.2 and below.
        pub ciphers: Vec<Arc<str>>,
        /// Key exchange groups.
        pub ecdh_curves as "ecdhCurves": Vec<Arc<str>>,
        /// Signature algorithms.
        pub signature_algorithms as "signatureAlgorithms": Vec<Arc<str>>,
        /// Protocols to offer by ALPN.
        pub alpn_protocols as "alpnProtocols": Vec<Arc<str>>,
        /// Fingerprints of the handshake to compute.
        pub fingerprints: Vec<TlsFingerprint>,
    }
    rules backends::BACKEND_TLS
}

open_enum! {
    /// Versions of TLS.
    pub enum TlsVersion {
        /// Whatever the engine thinks best.
        Auto = "Auto",
        /// TLS 1.0.
        V1_0 = "1.0",
        /// TLS 1.1.
        V1_1 = "1.1",
        /// TLS 1.2.
        V1_2 = "1.2",
        /// TLS 1.3.
        V1_3 = "1.3",
    }
}

open_enum! {
    /// Fingerprints of TLS handshakes.
    pub enum TlsFingerprint {
        /// JA3.
        Ja3 = "JA3",
        /// JA4.
        Ja4 = "JA4",
    }
}

object! {
    /// How a Backend is.
    #[derive(Eq, Default)]
    pub struct BackendStatus {
        /// Verdicts.
        pub conditions: Vec<Condition> [.max_items(MAX_CONDITIONS).unique_by("type")],
    }
}
