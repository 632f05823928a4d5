//! What engines say back, so that statuses tell what is served and not what was hoped.

use portcullis_api::kind::GATEWAY_API;
use portcullis_api::{Diagnostic, Kind, ObjectKey};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// One thing that an engine, or who allots addresses or watches a cluster, has said.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// How binding an address and port went.
    Bind(BindPoint, BindOutcome),
    /// Where Gateways without addresses of their own are served (`--bind`), in order of preference.
    DefaultAddresses(Arc<[IpAddr]>),
    /// The addresses that a Gateway was allotted.
    Allotted(ObjectKey, Arc<[IpAddr]>),
    /// Addresses that a Gateway's spec names and another Gateway was allotted: they are not this one's.
    Taken(ObjectKey, Arc<[IpAddr]>),
    /// The addresses of a Gateway's own Services, from the cluster's ServiceCIDR. Without this report they are not
    /// known (yet).
    InCluster(ObjectKey, Arc<[IpAddr]>),
    /// Where Gateways that are served on the default addresses are reached: what stands before this machine passes
    /// their traffic on (`--publish-service`). Without this report they are reached where they are served.
    Published(Arc<[PublishedAddress]>),
    /// Kinds that the cluster's API server does not serve: nothing can be of them. Files may hold objects of every kind.
    Unserved(Arc<[Kind]>),
    /// The bundle version that each of a cluster's Gateway API CRDs tells, none where it tells none; nothing where the
    /// CRDs may not be read. Files hold objects, not their definitions: they have no such report.
    BundleVersions(Arc<BTreeMap<Kind, Option<Arc<str>>>>),
    /// The entries of a policy's `status.ancestors`, by whomever they are: the list has an end, and what finds no room
    /// in it is not in effect. Without this report there are none.
    Ancestors(ObjectKey, Arc<[AncestorEntry]>),
    /// A cluster holds an object that admission refuses: it was stored under an older or looser CRD. The store has
    /// no object of this key then.
    Refused(ObjectKey, Arc<Refusal>),
}

/// Why an object that a cluster holds is not read.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// What admission says; at least one of them is an error.
    pub diagnostics: Vec<Diagnostic>,
    /// The object as it is written, without its status: whoever reports the refusal finds in it, as far as it can
    /// be read, the class or parents that the report goes to.
    pub written: Value,
}

impl Refusal {
    /// What the object guards, if it is a policy, as far as that can be read: backends, and sections of theirs. `key`
    /// is its own.
    ///
    /// Source: `LocalPolicyTargetReferenceWithSectionName` field documentation.
    pub fn targets(&self, key: &ObjectKey) -> Vec<(ObjectKey, Option<Arc<str>>)> {
        if key.kind != Kind::BackendTlsPolicy {
            return Vec::new();
        }
        let written = self.written.pointer("/spec/targetRefs").and_then(Value::as_array);
        let read = |target: &Value| {
            let text = |field: &str| target.get(field).and_then(Value::as_str);
            let kind = Kind::of(text("group").unwrap_or_default(), text("kind")?)?;
            let target = ObjectKey::new(kind, Arc::clone(&key.namespace), text("name")?);
            Some((target, text("sectionName").map(Arc::from)))
        };
        written.into_iter().flatten().filter_map(read).collect()
    }
}

/// What a [`Report`] is about; a later report about the same replaces it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportKey {
    /// Binding an address and port.
    Bind(BindPoint),
    /// The default addresses.
    DefaultAddresses,
    /// The addresses of a Gateway.
    Allotted(ObjectKey),
    /// The addresses that a Gateway names in vain.
    Taken(ObjectKey),
    /// The addresses of a Gateway's own Services.
    InCluster(ObjectKey),
    /// The published addresses.
    Published,
    /// The kinds that are not served.
    Unserved,
    /// The bundle versions of CRDs.
    BundleVersions,
    /// The entries of a policy's status.
    Ancestors(ObjectKey),
    /// That an object is refused.
    Refused(ObjectKey),
}

/// An entry of `status.ancestors`: a controller has said how a policy fares at something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AncestorEntry {
    /// Whose entry it is.
    pub controller: Arc<str>,
    /// What it is about; nothing if that is of no kind that is known.
    pub ancestor: Option<ObjectKey>,
}

impl AncestorEntry {
    /// The entries of a policy's status as it is written, as far as they can be read. `namespace` is the policy's own.
    ///
    /// Source: `PolicyAncestorStatus` field documentation.
    pub fn read(status: &Value, namespace: &Arc<str>) -> Arc<[Self]> {
        let entries = status.get("ancestors").and_then(Value::as_array);
        let read = |entry: &Value| {
            let text = |field: &str| entry.pointer(field).and_then(Value::as_str);
            let group = text("/ancestorRef/group").unwrap_or(GATEWAY_API);
            let kind = Kind::of(group, text("/ancestorRef/kind").unwrap_or("Gateway"));
            let namespace = text("/ancestorRef/namespace").map_or_else(|| Arc::clone(namespace), Arc::from);
            let ancestor = kind.zip(text("/ancestorRef/name"));
            Self {
                controller: text("/controllerName").unwrap_or_default().into(),
                ancestor: ancestor.map(|(kind, name)| ObjectKey::new(kind, namespace, name)),
            }
        };
        entries.into_iter().flatten().map(read).collect()
    }
}

/// An address at which clients reach us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PublishedAddress {
    /// An IP address.
    Ip(IpAddr),
    /// A name, where a load balancer has no fixed address.
    Hostname(Arc<str>),
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Streams.
    Tcp,
    /// Datagrams, QUIC among them.
    Udp,
}

/// What is bound: an address and port of the listener, before any `--port-offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindPoint {
    /// The transport.
    pub transport: Transport,
    /// The address and port.
    pub address: SocketAddr,
}

/// How a bind went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindOutcome {
    /// Connections are accepted there.
    Bound,
    /// They are not; the bind is tried again with back-off.
    Failed {
        /// Whose fault it is, as far as the operating system says.
        failure: BindFailure,
        /// One line with cause and remedy, for conditions and logs.
        message: Arc<str>,
    },
}

/// Why a bind failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindFailure {
    /// Another process has the port (EADDRINUSE).
    InUse,
    /// We may not bind it (EACCES, EPERM).
    NotPermitted,
    /// The address is none of this host (EADDRNOTAVAIL).
    NotLocal,
    /// Anything else, such as no file descriptors left.
    Other,
}

impl Report {
    /// What the report is about.
    pub fn key(&self) -> ReportKey {
        match self {
            Self::Bind(point, _) => ReportKey::Bind(*point),
            Self::DefaultAddresses(_) => ReportKey::DefaultAddresses,
            Self::Allotted(gateway, _) => ReportKey::Allotted(gateway.clone()),
            Self::Taken(gateway, _) => ReportKey::Taken(gateway.clone()),
            Self::InCluster(gateway, _) => ReportKey::InCluster(gateway.clone()),
            Self::Published(_) => ReportKey::Published,
            Self::Unserved(_) => ReportKey::Unserved,
            Self::BundleVersions(_) => ReportKey::BundleVersions,
            Self::Ancestors(policy, _) => ReportKey::Ancestors(policy.clone()),
            Self::Refused(object, _) => ReportKey::Refused(object.clone()),
        }
    }
}
