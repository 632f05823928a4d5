//! Namespaces that no file defines, and that exist all the same because objects live in them.

use crate::contents::NAMESPACE_NAME;
use portcullis_api::k8s_openapi::api::core::v1::Namespace;
use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_store::Change;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Namespaces {
    /// How many objects live in each.
    population: HashMap<Arc<str>, usize>,
    /// Those that we have made.
    made: BTreeSet<Arc<str>>,
    touched: BTreeSet<Arc<str>>,
}

impl Namespaces {
    /// An object is served from now on.
    pub(super) fn entered(&mut self, key: &ObjectKey) {
        let namespace = concerned(key);
        if key.kind.is_namespaced() {
            *self.population.entry(Arc::clone(namespace)).or_default() += 1;
        }
        self.touched.insert(Arc::clone(namespace));
    }

    /// An object is served no longer.
    pub(super) fn left(&mut self, key: &ObjectKey) {
        let namespace = concerned(key);
        if key.kind.is_namespaced()
            && let Some(count) = self.population.get_mut(namespace)
        {
            *count -= 1;
            if *count == 0 {
                self.population.remove(namespace);
            }
        }
        self.touched.insert(Arc::clone(namespace));
    }

    /// Makes and removes namespaces; `defined` tells whether a file has an object.
    pub(super) fn settle(&mut self, defined: impl Fn(&ObjectKey) -> bool, changes: &mut Vec<Change>) {
        for name in std::mem::take(&mut self.touched) {
            let key = ObjectKey::new(Kind::Namespace, "", Arc::clone(&name));
            if defined(&key) {
                self.made.remove(&name);
            } else if self.population.contains_key(&name) {
                if self.made.insert(Arc::clone(&name)) {
                    changes.push(Change::Put(made(&name)));
                }
            } else if self.made.remove(&name) {
                changes.push(Change::Remove(key));
            }
        }
    }
}

/// The namespace that an object lives in, or is.
fn concerned(key: &ObjectKey) -> &Arc<str> {
    if key.kind == Kind::Namespace { &key.name } else { &key.namespace }
}

fn made(name: &str) -> Object {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    namespace.metadata.generation = Some(1);
    namespace.metadata.labels = Some([(NAMESPACE_NAME.to_owned(), name.to_owned())].into());
    namespace.into()
}
