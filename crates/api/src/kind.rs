//! [`Kind`]: the kinds we know, with group, served versions and scope.

use std::fmt;

/// The group of the Gateway API.
pub const GATEWAY_API: &str = "gateway.networking.k8s.io";
/// The group of Envoy Gateway's extensions.
pub const ENVOY_GATEWAY: &str = "gateway.envoyproxy.io";

macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident ($name:literal) = $group:expr, $plural:literal, $scope:ident, [$($version:literal),+];)+) => {
        /// A kind that we know.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$meta])* $kind,)+
        }

        impl Kind {
            /// Every kind that we know.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The name in `kind:`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// The API group; empty for the core group.
            pub const fn group(self) -> &'static str {
                match self {
                    $(Self::$kind => $group,)+
                }
            }

            /// The plural that URLs and RBAC rules use.
            pub const fn plural(self) -> &'static str {
                match self {
                    $(Self::$kind => $plural,)+
                }
            }

            /// The versions that read into our type, the preferred one first.
            pub const fn versions(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$($version),+],)+
                }
            }

            /// Whether objects of the kind live in a namespace.
            pub const fn is_namespaced(self) -> bool {
                match self {
                    $(Self::$kind => kinds!(@ $scope),)+
                }
            }
        }
    };
    (@ namespaced) => { true };
    (@ cluster) => { false };
}

kinds! {
    /// Which controller serves, and how.
    GatewayClass ("GatewayClass") = GATEWAY_API, "gatewayclasses", cluster, ["v1", "v1beta1"];
    /// Addresses and listeners.
    Gateway ("Gateway") = GATEWAY_API, "gateways", namespaced, ["v1", "v1beta1"];
    /// More listeners for a Gateway.
    ListenerSet ("ListenerSet") = GATEWAY_API, "listenersets", namespaced, ["v1"];
    /// Routes for HTTP requests.
    HttpRoute ("HTTPRoute") = GATEWAY_API, "httproutes", namespaced, ["v1", "v1beta1"];
    /// Routes for gRPC calls.
    GrpcRoute ("GRPCRoute") = GATEWAY_API, "grpcroutes", namespaced, ["v1"];
    /// Routes for TLS connections by server name.
    TlsRoute ("TLSRoute") = GATEWAY_API, "tlsroutes", namespaced, ["v1", "v1alpha3", "v1alpha2"];
    /// Routes for TCP connections.
    TcpRoute ("TCPRoute") = GATEWAY_API, "tcproutes", namespaced, ["v1", "v1alpha2"];
    /// Routes for UDP sessions.
    UdpRoute ("UDPRoute") = GATEWAY_API, "udproutes", namespaced, ["v1", "v1alpha2"];
    /// Permission to refer from one namespace into another.
    ReferenceGrant ("ReferenceGrant") = GATEWAY_API, "referencegrants", namespaced, ["v1", "v1beta1"];
    /// How to speak TLS to a backend.
    BackendTlsPolicy ("BackendTLSPolicy") = GATEWAY_API, "backendtlspolicies", namespaced, ["v1", "v1alpha3"];
    /// Endpoints outside the cluster, by Envoy Gateway's type.
    Backend ("Backend") = ENVOY_GATEWAY, "backends", namespaced, ["v1alpha1"];
    /// A Kubernetes Service.
    Service ("Service") = "", "services", namespaced, ["v1"];
    /// Endpoints of a Service.
    EndpointSlice ("EndpointSlice") = "discovery.k8s.io", "endpointslices", namespaced, ["v1"];
    /// Certificates and keys.
    Secret ("Secret") = "", "secrets", namespaced, ["v1"];
    /// CA certificates and other configuration.
    ConfigMap ("ConfigMap") = "", "configmaps", namespaced, ["v1"];
    /// A namespace, for its labels.
    Namespace ("Namespace") = "", "namespaces", cluster, ["v1"];
    /// CA certificates of the cluster.
    ClusterTrustBundle ("ClusterTrustBundle") = "certificates.k8s.io", "clustertrustbundles", cluster, ["v1", "v1beta1", "v1alpha1"];
}

impl Kind {
    /// The kind of this group and name, if we know it.
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == kind && known.group() == group)
    }

    /// The preferred `apiVersion:`, such as `gateway.networking.k8s.io/v1` or `v1`.
    pub fn api_version(self) -> String {
        self.api_version_of(self.versions().first().copied().unwrap_or("v1"))
    }

    /// The `apiVersion:` of one version.
    pub fn api_version_of(self, version: &str) -> String {
        match self.group() {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    /// Whether routes of this kind attach to listeners.
    pub const fn is_route(self) -> bool {
        matches!(self, Self::HttpRoute | Self::GrpcRoute | Self::TlsRoute | Self::TcpRoute | Self::UdpRoute)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_group_and_name() {
        assert_eq!(Kind::of(GATEWAY_API, "HTTPRoute"), Some(Kind::HttpRoute));
        assert_eq!(Kind::of("", "HTTPRoute"), None);
        assert_eq!(Kind::of("", "Service"), Some(Kind::Service));
        assert_eq!(Kind::TlsRoute.api_version(), "gateway.networking.k8s.io/v1");
        assert_eq!(Kind::Secret.api_version(), "v1");
    }
}
