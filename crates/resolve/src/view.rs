//! What queries see: the store, the engine and each other, with every read noted.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use portcullis_api::backend::Backend;
use portcullis_api::backend_tls_policy::BackendTlsPolicy;
use portcullis_api::gateway::Gateway;
use portcullis_api::gateway_class::GatewayClass;
use portcullis_api::grpc_route::GrpcRoute;
use portcullis_api::http_route::HttpRoute;
use portcullis_api::k8s_openapi::api::certificates::v1::ClusterTrustBundle;
use portcullis_api::k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use portcullis_api::k8s_openapi::api::discovery::v1::EndpointSlice;
use portcullis_api::listener_set::ListenerSet;
use portcullis_api::reference_grant::ReferenceGrant;
use portcullis_api::secret::Secret;
use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_model::BindAddress;
use portcullis_store::{
    AncestorEntry, BindOutcome, BindPoint, Bucket, PublishedAddress, Refusal, ReportKey, Store, Transport,
};

use crate::engine::Engine;
use crate::memo::{Memo, Query};

/// Something outside resolution that a query has read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    /// An object, or that there is none.
    Object(ObjectKey),
    /// The members of a bucket.
    Bucket(Bucket),
    /// What an engine said, or that it said nothing.
    Report(ReportKey),
}

/// The only way for a query to read anything.
pub(crate) struct View<'a> {
    store: &'a Store,
    engine: &'a Engine,
    memo: &'a Memo,
}

macro_rules! readers {
    ($($name:ident: $kind:ident;)+) => {
        $(
            pub(crate) fn $name(&self, key: &ObjectKey) -> Option<Arc<$kind>> {
                match self.object(key) {
                    Some(Object::$kind(object)) => Some(Arc::clone(object)),
                    _ => None,
                }
            }
        )+
    };
}

impl<'a> View<'a> {
    pub(crate) fn new(store: &'a Store, engine: &'a Engine, memo: &'a Memo) -> View<'a> {
        View { store, engine, memo }
    }

    /// The engine, which never changes and is therefore not noted.
    pub(crate) fn engine(&self) -> &'a Engine {
        self.engine
    }

    /// The answer of another query.
    pub(crate) fn get<Q: Query>(&self, query: &Q) -> Arc<Q::Value> {
        self.memo.get(self, query)
    }

    pub(crate) fn object(&self, key: &ObjectKey) -> Option<&'a Object> {
        self.memo.note_input(Input::Object(key.clone()));
        self.store.get(key)
    }

    readers! {
        gateway_class: GatewayClass;
        gateway: Gateway;
        listener_set: ListenerSet;
        grpc_route: GrpcRoute;
        http_route: HttpRoute;
        reference_grant: ReferenceGrant;
        backend_tls_policy: BackendTlsPolicy;
        backend: Backend;
        service: Service;
        endpoint_slice: EndpointSlice;
        secret: Secret;
        config_map: ConfigMap;
        cluster_trust_bundle: ClusterTrustBundle;
        namespace: Namespace;
    }

    /// Why an object of the cluster is none of the store's.
    pub(crate) fn refusal(&self, key: &ObjectKey) -> Option<&'a Refusal> {
        self.memo.note_input(Input::Report(ReportKey::Refused(key.clone())));
        self.store.refused(key)
    }

    fn bucket(&self, bucket: Bucket) -> Vec<ObjectKey> {
        let keys = self.store.keys(&bucket).cloned().collect();
        self.memo.note_input(Input::Bucket(bucket));
        keys
    }

    /// Every object of a kind.
    pub(crate) fn all(&self, kind: Kind) -> Vec<ObjectKey> {
        self.bucket(Bucket::all(kind))
    }

    /// The objects of a kind that attach to an object.
    pub(crate) fn attached(&self, kind: Kind, parent: &ObjectKey) -> Vec<ObjectKey> {
        self.bucket(Bucket::attached(kind, parent.clone()))
    }

    /// The objects of a kind that refer to an object otherwise.
    pub(crate) fn referring(&self, kind: Kind, target: &ObjectKey) -> Vec<ObjectKey> {
        self.bucket(Bucket::referring(kind, target.clone()))
    }

    /// The objects of a kind in a namespace.
    pub(crate) fn in_namespace(&self, kind: Kind, namespace: &Arc<str>) -> Vec<ObjectKey> {
        self.bucket(Bucket::in_namespace(kind, Arc::clone(namespace)))
    }

    /// How binding an address and port went.
    pub(crate) fn bind_outcome(&self, address: BindAddress) -> Option<BindOutcome> {
        let transport = match address.transport {
            portcullis_model::Transport::Tcp => Transport::Tcp,
            portcullis_model::Transport::Udp => Transport::Udp,
        };
        let point = BindPoint { transport, address: SocketAddr::new(address.ip, address.port) };
        self.memo.note_input(Input::Report(ReportKey::Bind(point)));
        let assumed = self.engine.assume_bound.then_some(BindOutcome::Bound);
        self.store.bind(point).cloned().or(assumed)
    }

    /// The addresses of a Gateway that asks for none: those allotted to it, or the engine's own, or every
    /// address of this machine.
    pub(crate) fn default_addresses(&self, gateway: &ObjectKey) -> Vec<IpAddr> {
        self.memo.note_input(Input::Report(ReportKey::Allotted(gateway.clone())));
        self.memo.note_input(Input::Report(ReportKey::DefaultAddresses));
        let addresses = self.store.allotted(gateway).or_else(|| self.store.default_addresses());
        addresses.map_or_else(
            || vec![IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)],
            <[IpAddr]>::to_vec,
        )
    }

    /// The addresses that a Gateway's spec names and another Gateway was allotted.
    pub(crate) fn taken(&self, gateway: &ObjectKey) -> &'a [IpAddr] {
        self.memo.note_input(Input::Report(ReportKey::Taken(gateway.clone())));
        self.store.taken(gateway)
    }

    /// The addresses of a Gateway's own Services in the cluster; none while they are not known.
    pub(crate) fn in_cluster(&self, gateway: &ObjectKey) -> Option<&'a [IpAddr]> {
        self.memo.note_input(Input::Report(ReportKey::InCluster(gateway.clone())));
        self.store.in_cluster(gateway)
    }

    /// Whether objects of a kind can be there at all.
    pub(crate) fn is_served(&self, kind: Kind) -> bool {
        self.memo.note_input(Input::Report(ReportKey::Unserved));
        self.store.is_served(kind)
    }

    /// The entries of a policy's `status.ancestors`, ours among them.
    pub(crate) fn ancestors(&self, policy: &ObjectKey) -> &'a [AncestorEntry] {
        self.memo.note_input(Input::Report(ReportKey::Ancestors(policy.clone())));
        self.store.ancestors(policy)
    }

    /// The bundle versions that the cluster's CRDs tell; `None` from files.
    pub(crate) fn bundle_versions(&self) -> Option<&'a BTreeMap<Kind, Option<Arc<str>>>> {
        self.memo.note_input(Input::Report(ReportKey::BundleVersions));
        self.store.bundle_versions()
    }

    /// Where Gateways on the default addresses are reached, unless that is where they are served.
    pub(crate) fn published(&self) -> Option<&'a [PublishedAddress]> {
        self.memo.note_input(Input::Report(ReportKey::Published));
        self.store.published()
    }
}
