//! What to serve, engine-neutral: the one thing that resolution yields and every engine reads.
//!
//! No Kubernetes type appears here. Everything is parsed and valid: a [`Certificate`] has a key that
//! fits its leaf, a [`Pattern`] compiles, a [`HostPattern`] is lower case. Each part knows the object it
//! came from ([`Origin`]), so that logs, `explain` and refusals can name it.
//!
//! Read in this order: [`Model`] (what is bound where), [`Listener`] (what answers there), [`Route`] and
//! [`Rule`] (which requests go where), [`L4Route`] (which connections and datagrams), [`Filter`] (what is done to them), [`Cluster`] and [`Endpoints`]
//! (where they lead).
//!
//! Parts are shared by [`Arc`]: equal parts of two successive models are the same allocation, so an engine
//! may compare by pointer to find what a change touched.
#![forbid(unsafe_code)]

mod auth;
mod certificate;
mod cluster;
mod cors;
mod filter;
mod hostname;
mod l4_route;
mod listener;
mod listener_filters;
mod matching;
mod mirror;
mod origin;
mod path;
mod pattern;
mod retry;
mod route;
mod tls;
mod topology;
mod trust;
mod upstream_scope;
mod upstream_tls;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

pub use auth::{AuthProtocol, ExternalAuth};
pub use certificate::{Certificate, CertificateError};
pub use cluster::{
    Cluster, ClusterKey, Endpoint, EndpointAddress, EndpointState, Endpoints, EndpointsKey, UpstreamProtocol,
};
pub use cors::{Cors, Listed, OriginPattern, Origins};
pub use filter::{Filter, HeaderModifier, HeaderName, HeaderValue, PathRewrite, Redirect, RewriteUrl};
pub use hostname::{HostPattern, HostRank, Hostname};
pub use l4_route::{L4Route, L4Routes, Transport};
pub use listener::{Listener, ListenerId, ListenerProtocol, Port};
pub use listener_filters::ListenerFilters;
pub use matching::{CallMatch, HeaderMatch, Match, PathMatch, QueryMatch, ValueMatch};
pub use mirror::{Mirror, MirrorShare};
pub use origin::{Age, Origin, QualifiedName, RuleId};
pub use path::{PathError, ReplacementPath, canonical_path};
pub use pattern::{Pattern, PatternError};
pub use retry::Retry;
pub use route::{Action, Failure, FailureReason, Forward, Route, Rule, Target, Timeouts, WeightedBackend};
pub use tls::{
    Alpn, CipherSuite, ClientMode, ClientValidation, Curve, SignatureScheme, TlsOptions, TlsServer,
    TlsVersion,
};
pub use topology::{Hints, Locality, Selection};
pub use trust::{CaBundle, CaError, CaSet};
pub use upstream_scope::UpstreamScope;
pub use upstream_tls::{SubjectName, Trust, UpstreamTls};

/// An address and port that a socket is bound to, before any port offset of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindAddress {
    /// The local address; the unspecified address means every address of its family.
    pub ip: IpAddr,
    /// The port that the Gateway's listeners name, 1 to 65535.
    pub port: u16,
    /// What is bound there: TCP and UDP have ports of their own.
    pub transport: Transport,
}

impl BindAddress {
    /// An address and port for TCP.
    #[must_use]
    pub const fn tcp(ip: IpAddr, port: u16) -> BindAddress {
        BindAddress { ip, port, transport: Transport::Tcp }
    }
}

/// Everything that an engine serves.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// What is served at each bound address. Addresses that serve the same share the [`Port`].
    pub ports: BTreeMap<BindAddress, Arc<Port>>,
    /// How each backend is spoken to. Every [`Target::Cluster`] of a rule has its entry.
    pub clusters: Arc<BTreeMap<ClusterKey, Arc<Cluster>>>,
    /// Where each backend's instances are. Every cluster's `endpoints` key has its entry, possibly empty.
    pub endpoints: Arc<BTreeMap<EndpointsKey, Arc<Endpoints>>>,
}
