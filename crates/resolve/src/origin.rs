//! Names: of objects in the model, and of what references lead to.

use std::sync::Arc;

use portcullis_api::names::Namespace;
use portcullis_api::{Kind, ObjectKey};
use portcullis_model::Origin;

/// How the model names an object.
pub(crate) fn origin(key: &ObjectKey) -> Origin {
    Origin { kind: kind_name(key.kind), namespace: Arc::clone(&key.namespace), name: Arc::clone(&key.name) }
}

fn kind_name(kind: Kind) -> Arc<str> {
    Arc::from(kind.as_str())
}

/// The namespace that a reference means: its own, or else that of the object that refers.
pub(crate) fn namespace_or(named: Option<&Namespace>, home: &Arc<str>) -> Arc<str> {
    named.map_or_else(|| Arc::clone(home), Namespace::shared)
}
