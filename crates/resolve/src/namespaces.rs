//! Namespaces by label.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_api::label_selector::LabelSelector;
use portcullis_api::listener::FromNamespaces;
use portcullis_api::{Kind, ObjectKey};

use crate::memo::Query;
use crate::view::View;

/// The label that every namespace has, with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Which namespaces something may come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    All,
    Namespace(Arc<str>),
    Selected(LabelSelector),
    None,
}

impl Allowed {
    /// Reads `from` and `selector`. A selector beside another choice is ignored; `Selector` without one, or with
    /// one that means nothing, selects nothing.
    pub(crate) fn read(from: &FromNamespaces, selector: Option<&LabelSelector>, own: &Arc<str>) -> Allowed {
        match from {
            FromNamespaces::All => Allowed::All,
            FromNamespaces::Same => Allowed::Namespace(Arc::clone(own)),
            FromNamespaces::Selector => selector.cloned().map_or(Allowed::None, Allowed::Selected),
            FromNamespaces::None | FromNamespaces::Other(_) => Allowed::None,
        }
    }

    pub(crate) fn admits(&self, view: &View<'_>, namespace: &Arc<str>) -> bool {
        match self {
            Allowed::All => true,
            Allowed::Namespace(only) => only == namespace,
            Allowed::Selected(selector) => {
                let labels = view.get(&Labels { namespace: Arc::clone(namespace) });
                selector.matches(&labels).unwrap_or(false) // one that means nothing
            }
            Allowed::None => false,
        }
    }
}

/// Why a choice of namespaces selects nothing though it was meant to.
pub(crate) fn selector_fault(from: &FromNamespaces, selector: Option<&LabelSelector>) -> Option<String> {
    match (from, selector) {
        (FromNamespaces::Selector, None) => {
            Some("from: Selector without a selector selects nothing".to_owned())
        }
        (FromNamespaces::Selector, Some(selector)) => {
            selector.validate().err().map(|error| error.to_string())
        }
        _ => None,
    }
}

/// The labels of a namespace. One that no object describes exists, with its name as its only label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Labels {
    namespace: Arc<str>,
}

impl Query for Labels {
    type Value = BTreeMap<String, String>;

    fn compute(&self, view: &View<'_>) -> BTreeMap<String, String> {
        let key = ObjectKey::new(Kind::Namespace, "", Arc::clone(&self.namespace));
        let object = view.namespace(&key);
        let mut labels = object.and_then(|object| object.metadata.labels.clone()).unwrap_or_default();
        labels.entry(NAME_LABEL.to_owned()).or_insert_with(|| self.namespace.to_string());
        labels
    }
}
