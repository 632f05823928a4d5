//! What the engine can do, and whose Gateways are ours: inputs of resolution that no object holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use portcullis_api::Kind;
use portcullis_model::{CipherSuite, Curve, SignatureScheme, TlsVersion, UpstreamScope};

use crate::listeners::Protocol;

/// The `controllerName` of GatewayClasses that the native data plane serves.
pub const NATIVE_CONTROLLER: &str = "portcullis.dev/gateway-controller";

/// The engine that will serve the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// What it can do.
    pub capabilities: Capabilities,
    /// Where the objects come from, which decides whose classes are ours.
    pub source: Source,
    /// Where backends may be.
    pub upstreams: UpstreamScope,
    /// Whether ports count as bound while nobody has tried to bind them: where statuses are shown and nothing
    /// is served.
    pub assume_bound: bool,
}

/// Where objects come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From files, where every GatewayClass is ours whatever its controllerName, so that any vendor's
    /// manifests run as they are.
    Files,
    /// From a cluster, where the classes of these controllerNames are ours.
    Cluster(Vec<Arc<str>>),
}

/// What an engine serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The listener protocols.
    pub protocols: BTreeSet<Protocol>,
    /// The kinds of routes.
    pub route_kinds: BTreeSet<Kind>,
    /// The TLS versions.
    pub tls_versions: BTreeSet<TlsVersion>,
    /// The suites of TLS 1.2.
    pub cipher_suites: BTreeSet<CipherSuite>,
    /// The groups for key exchange.
    pub curves: BTreeSet<Curve>,
    /// The schemes that it signs with.
    pub signature_schemes: BTreeSet<SignatureScheme>,
    /// The Gateway API features that are in effect, for `GatewayClass.status.supportedFeatures`.
    pub features: BTreeSet<&'static str>,
}

/// Features of the Gateway API that the native data plane has in effect.
///
/// Source: the feature names of the Gateway API v1.7.0 (`pkg/features`). Files and clusters tell the same, though there is
/// nothing to label where no Service stands for a Gateway.
const NATIVE_FEATURES: &[&str] = &[
    "BackendTLSPolicy",
    "BackendTLSPolicySANValidation",
    "GRPCRoute",
    "GRPCRouteNamedRouteRule",
    "GRPCRouteRequestHeaderModifier",
    "ClusterTrustBundle",
    "Gateway",
    "GatewayAddressEmpty",
    "GatewayAddressRoutability",
    "GatewayAddressRoutabilityCluster",
    "GatewayBackendClientCertificate",
    "GatewayFrontendClientCertificateValidation",
    "GatewayFrontendClientCertificateValidationInsecureFallback",
    "GatewayHTTPListenerIsolation",
    "GatewayHTTPSListenerDetectMisdirectedRequests",
    "GatewayInfrastructure",
    "GatewayListenerFilters",
    "GatewayPort8080",
    "GatewayRouteHostnameIntersectionPrecedence",
    "GatewayStaticAddresses",
    "HTTPRoute",
    "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode",
    "HTTPRouteBackendProtocolH2C",
    "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification",
    "HTTPRouteBackendTimeout",
    "HTTPRouteBackendURLRewrite",
    "HTTPRouteCORS",
    "HTTPRouteDestinationPortMatching",
    "HTTPRouteHostRewrite",
    "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule",
    "HTTPRouteParentRefPort",
    "HTTPRoutePathRedirect",
    "HTTPRoutePathRewrite",
    "HTTPRoutePortRedirect",
    "HTTPRouteQueryParamMatching",
    "HTTPRouteRequestMirror",
    "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror",
    "HTTPRouteRequestTimeout",
    "HTTPRouteResponseHeaderModification",
    "HTTPRouteRetryCodes",
    "HTTPRouteRetryConnectionError",
    "HTTPRouteSchemeRedirect",
    "ListenerSet",
    "ReferenceGrant",
    "TCPRoute",
    "TLSRoute",
    "TLSRouteModeMixed",
    "TLSRouteModeTerminate",
    "UDPRoute",
];

impl Capabilities {
    /// What the native data plane serves.
    #[must_use]
    pub fn native() -> Capabilities {
        let tls = portcullis_model::TlsOptions::default();
        Capabilities {
            protocols: BTreeSet::from([
                Protocol::Http,
                Protocol::Https,
                Protocol::Http3,
                Protocol::Tls,
                Protocol::Tcp,
                Protocol::Udp,
            ]),
            route_kinds: BTreeSet::from([
                Kind::HttpRoute,
                Kind::GrpcRoute,
                Kind::TlsRoute,
                Kind::TcpRoute,
                Kind::UdpRoute,
            ]),
            tls_versions: BTreeSet::from([TlsVersion::V1_2, TlsVersion::V1_3]),
            cipher_suites: tls.cipher_suites.into_iter().collect(),
            curves: BTreeSet::from([Curve::X25519MlKem768, Curve::X25519, Curve::P256, Curve::P384]),
            signature_schemes: tls.signature_schemes.into_iter().collect(),
            features: NATIVE_FEATURES.iter().copied().collect(),
        }
    }
}

impl Engine {
    /// The native data plane, serving objects from files.
    #[must_use]
    pub fn native_from_files() -> Engine {
        Engine {
            capabilities: Capabilities::native(),
            source: Source::Files,
            upstreams: UpstreamScope::Anywhere,
            assume_bound: false,
        }
    }

    /// The native data plane, serving objects from a cluster.
    #[must_use]
    pub fn native_in_cluster(upstreams: UpstreamScope) -> Engine {
        let source = Source::Cluster(vec![NATIVE_CONTROLLER.into()]);
        Engine { source, upstreams, ..Engine::native_from_files() }
    }

    /// The same engine where nothing is served: ports count as bound unless somebody says otherwise.
    #[must_use]
    pub fn assuming_bound(mut self) -> Engine {
        self.assume_bound = true;
        self
    }

    /// Whether classes of this controllerName are ours.
    pub(crate) fn owns(&self, controller_name: &str) -> bool {
        match &self.source {
            Source::Files => true,
            Source::Cluster(names) => names.iter().any(|name| **name == *controller_name),
        }
    }
}
