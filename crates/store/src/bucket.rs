//! [`Bucket`]: a question with many answers.

use portcullis_api::{Kind, ObjectKey};
use std::sync::Arc;

/// The objects of one kind that have something in common.
///
/// A bucket changes when an object enters or leaves it. That a member itself has changed is told by the
/// member's key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    /// The kind of the members.
    pub kind: Kind,
    /// What they have in common.
    pub by: By,
}

/// What the members of a [`Bucket`] have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum By {
    /// Their kind alone.
    Kind,
    /// They live in this namespace.
    Namespace(Arc<str>),
    /// Gateways that name this GatewayClass.
    Class(Arc<str>),
    /// They attach to this object: routes by `parentRefs`, ListenerSets by `parentRef`, policies by
    /// `targetRefs`, EndpointSlices by their label `kubernetes.io/service-name`.
    Parent(ObjectKey),
    /// They refer to this object otherwise: `backendRefs`, `certificateRefs`, `caCertificateRefs`,
    /// `parametersRef`, the references within filters.
    Reference(ObjectKey),
}

impl Bucket {
    /// All objects of a kind.
    pub fn all(kind: Kind) -> Self {
        Self { kind, by: By::Kind }
    }

    /// The objects of a kind in a namespace.
    pub fn in_namespace(kind: Kind, namespace: impl Into<Arc<str>>) -> Self {
        Self { kind, by: By::Namespace(namespace.into()) }
    }

    /// The Gateways of a class.
    pub fn gateways_of(class: impl Into<Arc<str>>) -> Self {
        Self { kind: Kind::Gateway, by: By::Class(class.into()) }
    }

    /// The objects of a kind that attach to `parent`.
    pub fn attached(kind: Kind, parent: ObjectKey) -> Self {
        Self { kind, by: By::Parent(parent) }
    }

    /// The objects of a kind that refer to `target` other than as their parent.
    pub fn referring(kind: Kind, target: ObjectKey) -> Self {
        Self { kind, by: By::Reference(target) }
    }

    /// The EndpointSlices of a Service.
    pub fn endpoints_of(service: ObjectKey) -> Self {
        Self::attached(Kind::EndpointSlice, service)
    }
}
