//! The CRDs' `x-kubernetes-validations`, in Rust, one function a rule.
//!
//! They run after defaulting, on JSON rather than on our types, because the API server runs them
//! even where a pattern or a length is broken, and then reports both.

pub(crate) mod backends;
pub(crate) mod filters;
pub(crate) mod gateways;
pub(crate) mod grpc;
pub(crate) mod listeners;
pub(crate) mod node;
pub(crate) mod paths;
pub(crate) mod policies;
pub(crate) mod references;
pub(crate) mod routes;
pub(crate) mod sessions;

use node::Node;

use crate::diagnostic::Rule;

/// One CEL rule.
#[derive(Debug)]
pub(crate) struct CelRule {
    /// What a violation is reported as.
    pub(crate) rule: &'static Rule,
    /// What a violation is, in our words.
    pub(crate) message: &'static str,
    /// The first eight hexadecimal digits of the SHA-256 of the rule's expression as the CRD has
    /// it, so that a changed rule is noticed when the CRDs are taken up anew.
    pub(crate) upstream: &'static str,
    /// Whether the rule holds for a value.
    pub(crate) holds: fn(Node<'_>) -> bool,
}

/// CEL's `all(a, exists_one(b, same(a, b)))`, for a relation that everything has to itself.
fn all_distinct<'a>(
    items: &(impl Iterator<Item = Node<'a>> + Clone),
    same: impl Fn(Node<'a>, Node<'a>) -> bool,
) -> bool {
    items.clone().all(|one| items.clone().filter(|other| same(one, *other)).count() == 1)
}
