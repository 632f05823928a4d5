//! References that lead to nothing: what was refused there, or what may have been meant.
//!
//! Resolution says that a target is missing, and reads nothing else for it: names near to it would make every missing
//! target depend on all objects of its kind. So what is near is looked up here, where findings are shown.

use std::collections::BTreeMap;

use portcullis_api::field_path::Step;
use portcullis_api::spelling::nearest;
use portcullis_api::{Diagnostic, FieldPath, Kind, Object, ObjectKey, Position};
use portcullis_store::Store;
use serde_json::Value;

/// Findings at a reference, with the kind that is meant where the reference names none.
const OF_REFERENCES: [(&str, Kind); 7] = [
    ("PC0303", Kind::GatewayClass),
    ("PC0315", Kind::Secret),
    ("PC0344", Kind::Gateway),
    ("PC0401", Kind::Gateway),
    ("PC0404", Kind::Gateway),
    ("PC0501", Kind::Service),
    ("PC0601", Kind::Secret),
];

/// What is said about references, with the objects that there are and those that were refused.
pub(crate) struct References<'a> {
    store: &'a Store,
    /// Where the first fault of each refused object is.
    refused: BTreeMap<&'a ObjectKey, &'a Position>,
}

/// A reference as it is written, defaults included.
struct Reference {
    target: ObjectKey,
    section: Option<String>,
    port: Option<u64>,
}

impl<'a> References<'a> {
    /// With the findings of admission.
    pub(crate) fn new(store: &'a Store, refusals: &'a [Diagnostic]) -> Self {
        let mut refused = BTreeMap::new();
        for refusal in refusals.iter().filter(|refusal| refusal.is_error()) {
            if let (Some(object), Some(position)) = (&refusal.object, &refusal.position)
                && store.get(object).is_none()
            {
                refused.entry(object).or_insert(position);
            }
        }
        Self { store, refused }
    }

    /// A finding with what can be said of the reference that it is about.
    pub(crate) fn explain(&self, finding: Diagnostic) -> Diagnostic {
        let Some(reference) = self.reference(&finding) else { return finding };
        let Reference { target, section, port } = &reference;
        if let Some(position) = self.refused.get(target) {
            let place = format!("{}:{}", position.file.display(), position.line);
            let message = format!("{target} was refused, see {place}");
            return Diagnostic { message, ..finding }.with_hint("correct what is wrong there");
        }
        let hint = match self.store.get(target) {
            None => self.near(target),
            Some(found) if finding.rule.code == "PC0401" => section_hint(found, section.as_deref()),
            Some(Object::Service(service)) if port.is_some() => ports_hint(service),
            Some(_) => None,
        };
        match hint {
            Some(hint) => finding.with_hint(hint),
            None => finding,
        }
    }

    fn reference(&self, finding: &Diagnostic) -> Option<Reference> {
        let (_, kind) = OF_REFERENCES.iter().find(|(code, _)| *code == finding.rule.code)?;
        let owner = finding.object.as_ref()?;
        let object = json(self.store.get(owner)?)?;
        read(at(&object, &finding.path)?, *kind, owner)
    }

    /// The object of the same kind that may have been meant: one of the same namespace, or else of another.
    fn near(&self, missing: &ObjectKey) -> Option<String> {
        let keys: Vec<ObjectKey> = self.store.list(missing.kind).map(Object::key).collect();
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            keys.iter().partition(|key| key.namespace == missing.namespace);
        if let Some(name) = nearest(&missing.name, here.iter().map(|key| &*key.name)) {
            return Some(format!("did you mean {name}?"));
        }
        let name = nearest(&missing.name, elsewhere.iter().map(|key| &*key.name))?;
        let key = elsewhere.iter().find(|key| *key.name == *name)?;
        Some(format!("there is {name} in namespace {}", key.namespace))
    }
}

/// The objects that refer to others.
fn json(object: &Object) -> Option<Value> {
    match object {
        Object::Gateway(gateway) => serde_json::to_value(&**gateway).ok(),
        Object::ListenerSet(set) => serde_json::to_value(&**set).ok(),
        Object::HttpRoute(route) => serde_json::to_value(&**route).ok(),
        Object::GrpcRoute(route) => serde_json::to_value(&**route).ok(),
        Object::TlsRoute(route) => serde_json::to_value(&**route).ok(),
        Object::TcpRoute(route) => serde_json::to_value(&**route).ok(),
        Object::UdpRoute(route) => serde_json::to_value(&**route).ok(),
        _ => None,
    }
}

fn at<'a>(object: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    path.steps().iter().try_fold(object, |value, step| match step {
        Step::Field(name) | Step::Key(name) => value.get(&**name),
        Step::Index(index) => value.get(index),
    })
}

fn read(written: &Value, kind: Kind, owner: &ObjectKey) -> Option<Reference> {
    if let Some(name) = written.as_str() {
        return Some(Reference { target: ObjectKey::new(kind, "", name), section: None, port: None });
    }
    let text = |field: &str| written.get(field).and_then(Value::as_str);
    let kind = match text("kind") {
        None => kind,
        Some(name) => Kind::of(text("group").unwrap_or(kind.group()), name)?,
    };
    let namespace = text("namespace").unwrap_or(&owner.namespace);
    Some(Reference {
        target: ObjectKey::new(kind, namespace, text("name")?),
        section: text("sectionName").map(str::to_owned),
        port: written.get("port").and_then(Value::as_u64),
    })
}

/// The listener that may have been meant.
fn section_hint(parent: &Object, section: Option<&str>) -> Option<String> {
    let listeners: Vec<&str> = match parent {
        Object::Gateway(gateway) => gateway.spec.listeners.iter().map(|entry| entry.name.as_str()).collect(),
        Object::ListenerSet(set) => set.spec.listeners.iter().map(|entry| entry.name.as_str()).collect(),
        _ => return None,
    };
    let section = section.filter(|section| !listeners.contains(section))?;
    match nearest(section, listeners.iter().copied()) {
        Some(name) => Some(format!("did you mean sectionName: {name}?")),
        None => Some(format!("its listeners are named {}", listeners.join(", "))),
    }
}

/// The ports that there are instead.
fn ports_hint(service: &portcullis_api::k8s_openapi::api::core::v1::Service) -> Option<String> {
    let ports = service.spec.as_ref()?.ports.as_ref()?;
    let ports: Vec<String> = ports.iter().map(|port| port.port.to_string()).collect();
    match ports.len() {
        0 => None,
        1 => Some(format!("the Service has port {}", ports.concat())),
        _ => Some(format!("the Service has the ports {}", ports.join(", "))),
    }
}

#[cfg(test)]
mod tests;
