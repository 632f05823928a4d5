//! Names as the Gateway API writes them, each with the limits of its CRD type, and [`ObjectKey`].

use std::{fmt, sync::Arc};

use crate::{
    kind::Kind,
    patterns::{DNS_LABEL, DNS_SUBDOMAIN, GROUP, KIND},
    text::text,
};

text! {
    /// An API group; empty is the core group.
    pub struct Group { max_length: 253, pattern: &GROUP }
}

text! {
    /// The name of a kind as references write it. It need not be a kind that we know: see [`Kind`].
    pub struct KindName { min_length: 1, max_length: 63, pattern: &KIND }
}

text! {
    /// The name of a referenced object. Which names exist is up to the kind, hence no pattern.
    pub struct ObjectName { min_length: 1, max_length: 253 }
}

text! {
    /// A namespace: a DNS label.
    pub struct Namespace { min_length: 1, max_length: 63, pattern: &DNS_LABEL }
}

text! {
    /// The name of a part of an object: a listener, a route rule, a Service port.
    pub struct SectionName { min_length: 1, max_length: 253, pattern: &DNS_SUBDOMAIN }
}

impl Group {
    /// The core group, written as an empty string.
    pub fn core() -> Self {
        Self::unchecked("")
    }

    /// The group of the Gateway API.
    pub fn gateway_api() -> Self {
        Self::unchecked(crate::kind::GATEWAY_API)
    }
}

/// What identifies an object. The version is no part of it: all served versions are one object.
///
/// Ordered by kind, then namespace, then name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The kind, which implies the group.
    pub kind: Kind,
    /// The namespace; empty for kinds that have none.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The key of an object; `namespace` is dropped for kinds that are cluster-wide.
    pub fn new(kind: Kind, namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        let namespace = if kind.is_namespaced() { namespace.into() } else { Arc::from("") };
        Self { kind, namespace, name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    /// `Gateway/default/web`, and `GatewayClass/edge` without a namespace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}/{}", self.kind, self.name)
        } else {
            write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
        }
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_refused_outside_its_limits() {
        assert_eq!(SectionName::new("web-1.a").map(|n| n.to_string()).ok(), Some("web-1.a".into()));
        assert!(SectionName::new("").is_err());
        assert!(SectionName::new("Web").is_err());
        assert!(Namespace::new("a.b").is_err());
        assert!(Namespace::new("a".repeat(64)).is_err());
        assert!(Group::new("").is_ok());
    }

    #[test]
    fn cluster_wide_kinds_have_no_namespace_in_their_key() {
        assert_eq!(ObjectKey::new(Kind::GatewayClass, "x", "edge").to_string(), "GatewayClass/edge");
        assert_eq!(ObjectKey::new(Kind::Gateway, "x", "web").to_string(), "Gateway/x/web");
    }
}
