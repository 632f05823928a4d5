//! [`Object`]: one object of any kind that we know.

use std::{fmt, sync::Arc};

use k8s_openapi::{
    api::{
        certificates::v1::ClusterTrustBundle,
        core::v1::{ConfigMap, Namespace, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use crate::{
    backend::Backend,
    backend_tls_policy::BackendTlsPolicy,
    gateway::Gateway,
    gateway_class::GatewayClass,
    grpc_route::GrpcRoute,
    http_route::HttpRoute,
    kind::Kind,
    l4_route::{TcpRoute, UdpRoute},
    listener_set::ListenerSet,
    names::ObjectKey,
    reference_grant::ReferenceGrant,
    secret::Secret,
    tls_route::TlsRoute,
};

macro_rules! objects {
    ($($(#[$meta:meta])* $kind:ident),+ $(,)?) => {
        /// One object of a kind that we know; cheap to clone.
        #[derive(Clone, PartialEq)]
        pub enum Object {
            $($(#[$meta])* $kind(Arc<$kind>),)+
        }

        impl Object {
            /// The kind.
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)+
                }
            }

            /// The metadata.
            pub fn metadata(&self) -> &ObjectMeta {
                match self {
                    $(Self::$kind(object) => &object.metadata,)+
                }
            }

            /// The metadata, to change it; an object that is shared is copied first.
            pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self {
                    $(Self::$kind(object) => &mut Arc::make_mut(object).metadata,)+
                }
            }
        }

        $(impl From<$kind> for Object {
            fn from(object: $kind) -> Self {
                Self::$kind(Arc::new(object))
            }
        })+
    };
}

objects! {
    /// Which controller serves.
    GatewayClass,
    /// Addresses and listeners.
    Gateway,
    /// More listeners for a Gateway.
    ListenerSet,
    /// Routes for HTTP requests.
    HttpRoute,
    /// Routes for gRPC calls.
    GrpcRoute,
    /// Routes for TLS connections.
    TlsRoute,
    /// Routes for TCP connections.
    TcpRoute,
    /// Routes for UDP sessions.
    UdpRoute,
    /// Permission to refer across namespaces.
    ReferenceGrant,
    /// How to speak TLS to a backend.
    BackendTlsPolicy,
    /// Endpoints outside the cluster.
    Backend,
    /// A Kubernetes Service.
    Service,
    /// Endpoints of a Service.
    EndpointSlice,
    /// Certificates and keys.
    Secret,
    /// CA certificates and other configuration.
    ConfigMap,
    /// A namespace, for its labels.
    Namespace,
    /// CA certificates of the cluster.
    ClusterTrustBundle,
}

impl Object {
    /// What identifies it.
    pub fn key(&self) -> ObjectKey {
        let metadata = self.metadata();
        ObjectKey::new(
            self.kind(),
            metadata.namespace.as_deref().unwrap_or_default(),
            metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// How often its spec has changed; 1 where nobody counts.
    pub fn generation(&self) -> i64 {
        self.metadata().generation.unwrap_or(1)
    }
}

impl fmt::Debug for Object {
    /// The key alone, so that no Secret is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_written_as_a_cluster_would_hold_it() {
        let written = json!({
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": "web", "namespace": "edge", "generation": 3},
            "spec": {
                "gatewayClassName": "portcullis",
                "listeners": [{
                    "name": "http",
                    "port": 80,
                    "protocol": "example.com/QUIC",
                    "allowedRoutes": {"namespaces": {"from": "Nearby"}},
                }],
            },
            "status": {"conditions": [{
                "type": "Accepted",
                "status": "True",
                "reason": "Accepted",
                "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }]},
        });
        let gateway: Gateway = serde_json::from_value(written.clone()).expect("it fits the type");
        assert_eq!(serde_json::to_value(&gateway).ok(), Some(written));
        let object = Object::from(gateway);
        assert_eq!(object.key().to_string(), "Gateway/edge/web");
        assert_eq!(object.generation(), 3);
    }

    #[test]
    fn what_does_not_fit_says_where() {
        let wrong = json!({"metadata": {}, "spec": {"gatewayClassName": "x", "listeners": [
            {"name": "a", "port": 0, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}
        ]}});
        let error = serde_json::from_value::<Gateway>(wrong).map_err(|error| error.to_string());
        assert_eq!(error.err().as_deref(), Some("spec.listeners[0].port: must be at least 1"));
    }

    #[test]
    fn debugging_an_object_prints_its_key_alone() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "s", "namespace": "n"},
            "stringData": {"k": "hunter2"}
        });
        let secret = crate::admit(secret).object;
        assert_eq!(format!("{secret:?}"), "Some(Secret/n/s)");
    }
}
