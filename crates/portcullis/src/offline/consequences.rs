//! One cause, one finding: what follows from another finding is left out.
//!
//! Conditions tell each object's owner what became of it, consequences included. Whoever corrects files wants the
//! places to correct.

use std::collections::BTreeSet;

use portcullis_api::field_path::Step;
use portcullis_api::listener::Listener;
use portcullis_api::references::ParentRef;
use portcullis_api::{Diagnostic, FieldPath, Kind, Object, ObjectKey};
use portcullis_store::Store;

/// Findings that sum up those of the same object's listeners.
const OF_LISTENERS: [&str; 4] = ["PC0312", "PC0313", "PC0314", "PC0343"];
/// Findings about an object whose parent has an error of its own.
const OF_PARENT: [&str; 2] = ["PC0341", "PC0342"];
/// No listener takes the route's kind: so it is where the listener's protocol is not known.
const ROUTE_NOT_ALLOWED: &str = "PC0402";
/// The listener's protocol is not served.
const LISTENER_PROTOCOL: &str = "PC0320";

/// The findings without those that others explain.
pub(crate) fn without_consequences(found: Vec<Diagnostic>, store: &Store) -> Vec<Diagnostic> {
    let causes = Causes::of(&found, store);
    found.into_iter().filter(|finding| !causes.explain(finding)).collect()
}

/// What other findings follow from.
struct Causes<'a> {
    store: &'a Store,
    /// Objects of which a listener has an error.
    listeners: BTreeSet<ObjectKey>,
    /// Objects with an error.
    objects: BTreeSet<ObjectKey>,
    /// Listeners whose protocol is not served, by their place.
    unserved: BTreeSet<(ObjectKey, usize)>,
}

impl<'a> Causes<'a> {
    fn of(found: &[Diagnostic], store: &'a Store) -> Self {
        let (listeners, objects, unserved) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut causes = Self { store, listeners, objects, unserved };
        for finding in found.iter().filter(|finding| finding.is_error()) {
            let Some(object) = finding.object.clone() else { continue };
            causes.objects.insert(object.clone());
            let Some(index) = listener(&finding.path) else { continue };
            if finding.rule.code == LISTENER_PROTOCOL {
                causes.unserved.insert((object.clone(), index));
            }
            causes.listeners.insert(object);
        }
        causes
    }

    fn explain(&self, finding: &Diagnostic) -> bool {
        let Some(object) = &finding.object else { return false };
        match finding.rule.code {
            code if OF_LISTENERS.contains(&code) => self.listeners.contains(object),
            code if OF_PARENT.contains(&code) => {
                self.parent_of_set(object).is_some_and(|parent| self.objects.contains(&parent))
            }
            ROUTE_NOT_ALLOWED => self.is_unserved(object, &finding.path),
            _ => false,
        }
    }

    fn parent_of_set(&self, set: &ObjectKey) -> Option<ObjectKey> {
        let Object::ListenerSet(object) = self.store.get(set)? else { return None };
        let parent = &object.spec.parent_ref;
        let namespace = parent.namespace.as_ref().map_or(&*set.namespace, |namespace| namespace.as_str());
        Some(ObjectKey::new(Kind::Gateway, namespace, parent.name.as_str()))
    }

    /// Whether none of the listeners that a route's parentRef names is served.
    fn is_unserved(&self, route: &ObjectKey, path: &FieldPath) -> bool {
        let named = || {
            let parents = self.store.get(route)?.route_parents()?;
            let Some(Step::Index(index)) = path.steps().last() else { return None };
            self.named(route, parents.get(*index)?)
        };
        named().is_some_and(|named| {
            !named.is_empty() && named.iter().all(|listener| self.unserved.contains(listener))
        })
    }

    /// The listeners that a parentRef names.
    fn named(&self, route: &ObjectKey, reference: &ParentRef) -> Option<Vec<(ObjectKey, usize)>> {
        let kind = Kind::of(reference.group.as_str(), reference.kind.as_str())?;
        let namespace =
            reference.namespace.as_ref().map_or(&*route.namespace, |namespace| namespace.as_str());
        let parent = ObjectKey::new(kind, namespace, reference.name.as_str());
        let listeners = match self.store.get(&parent)? {
            Object::Gateway(gateway) => &gateway.spec.listeners,
            Object::ListenerSet(set) => &set.spec.listeners,
            _ => return None,
        };
        let is_named = |listener: &Listener| {
            reference.section_name.as_ref().is_none_or(|section| *section == listener.name)
                && reference.port.is_none_or(|port| port == listener.port)
        };
        let named = listeners.iter().enumerate().filter(|(_, listener)| is_named(listener));
        Some(named.map(|(index, _)| (parent.clone(), index)).collect())
    }
}

/// The place of the listener that a path leads into.
fn listener(path: &FieldPath) -> Option<usize> {
    match path.steps() {
        [Step::Field(spec), Step::Field(listeners), Step::Index(index), ..]
            if **spec == *"spec" && **listeners == *"listeners" =>
        {
            Some(*index)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::{Offline, sample};

    /// Code, object and path of each error of a text, with its hint.
    fn errors(text: &str) -> Vec<String> {
        let (offline, _) = Offline::of(text);
        let found = offline.diagnostics().into_iter().filter(Diagnostic::is_error);
        found.map(|found| format!("{} {} ({})", found, found.path, found.hint())).collect()
    }

    const OBJECTS: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more}
spec:
  parentRef: {name: web}
  listeners: [{name: b, protocol: HTTP, port: 81}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec: {parentRefs: [{name: web}]}
";

    /// Errors where the Gateway's listener has this protocol.
    fn errors_with(protocol: &str) -> Vec<String> {
        errors(&format!(
            "{}{OBJECTS}",
            sample::gateway(&format!("{{name: a, protocol: {protocol}, port: 80}}"))
        ))
    }

    #[test]
    fn a_misspelt_protocol_is_one_finding() {
        assert_eq!(errors_with("HTTP"), [""; 0]);
        for (written, meant) in [("http", "HTTP"), ("https", "HTTPS"), ("Tls", "TLS"), ("HTTP2", "HTTP")] {
            let expected = format!(
                "error[PC0320] Gateway/default/web spec.listeners[0].protocol: protocol {written} is not served \
                 spec.listeners[0].protocol (did you mean {meant}?)"
            );
            assert_eq!(errors_with(written), [expected]);
        }
    }

    /// The route is refused for a reason of its own: another listener would take it, were it of another namespace.
    #[test]
    fn a_finding_with_another_cause_stays() {
        let text = (sample::gateway("{name: a, protocol: HTTP, port: 80}") + OBJECTS)
            .replace("metadata: {name: r}", "metadata: {name: r, namespace: other}")
            .replace("parentRefs: [{name: web}]", "parentRefs: [{name: web, namespace: default}]");
        let errors = errors(&text);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with("error[PC0402] HTTPRoute/other/r spec.parentRefs[0]: "), "{errors:?}");
    }
}
