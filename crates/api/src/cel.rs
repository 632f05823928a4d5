//! The CRDs' `x-kubernetes-validations`, in Rust.

use crate::{cel::node::Node, diagnostic::Rule};

pub(crate) mod node;

/// One CEL rule.
#[derive(Debug)]
pub struct CelRule {
    /// What a violation is reported as.
    pub rule: Rule,
    /// The first eight hexadecimal digits of the SHA-256 of the rule's expression as the CRD has
    /// it, so that a changed rule is noticed when the CRDs are taken up anew.
    pub upstream: &'static str,
    /// Whether the rule holds for a value.
    pub(crate) holds: fn(Node<'_>) -> bool,
}
