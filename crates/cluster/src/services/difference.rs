//! What is to be done so that each Gateway has its Service.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use portcullis_api::gateway::{Gateway, GatewayAddress};
use portcullis_api::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portcullis_api::{Kind, Object, ObjectKey};
use portcullis_store::{BindFailure, BindOutcome, BindPoint, Bucket, Store, Transport};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::names;
use super::wanted::{MANAGED_BY, Port, Wanted};
use crate::addresses::is_ours;

/// The annotation that says what was applied, so that what is no longer wanted is noticed.
const APPLIED: &str = "portcullis.dev/applied";

/// What is to be asked of the API server about one object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// There is none of this name.
    Create { key: ObjectKey, body: Value },
    /// It belongs to the Gateway, and differs. The body names its uid.
    Update { key: ObjectKey, body: Value },
    /// It belongs to a Gateway and is no longer wanted.
    Delete { key: ObjectKey, uid: String },
}

impl Action {
    pub(super) fn key(&self) -> &ObjectKey {
        match self {
            Self::Create { key, .. } | Self::Update { key, .. } | Self::Delete { key, .. } => key,
        }
    }
}

/// An action, and the object that it was decided on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sent {
    action: Action,
    held: Option<Object>,
}

/// What is to be done, apart from what was sent already and the store does not show yet; `wanted_keys` becomes what
/// there shall be.
pub(super) fn actions(
    store: &Store,
    controllers: &[Arc<str>],
    accepted: &dyn Fn(&ObjectKey) -> bool,
    wanted_keys: &mut HashSet<ObjectKey>,
    sent: &mut HashMap<ObjectKey, Sent>,
) -> Vec<Action> {
    let mut due = Vec::new();
    wanted_keys.clear();
    for object in store.list(Kind::Gateway) {
        let Object::Gateway(gateway) = object else { continue };
        if !is_ours(store, gateway, controllers) {
            continue;
        }
        let wanted = wanted(store, &object.key(), gateway, accepted);
        let Some(service) = service_name(store, gateway) else { continue };
        for (key, body) in wanted.objects(&service) {
            due.extend(apply(store, gateway, &key, body));
            wanted_keys.insert(key);
        }
    }
    for kind in [Kind::Service, Kind::EndpointSlice] {
        let stale = store.list(kind).filter(|object| is_made_by_us(object.metadata()));
        due.extend(stale.filter(|object| !wanted_keys.contains(&object.key())).filter_map(delete));
    }
    sent.retain(|key, _| wanted_keys.contains(key) || store.get(key).is_some());
    due.retain(|action| {
        let now = Sent { action: action.clone(), held: store.get(action.key()).cloned() };
        sent.insert(action.key().clone(), now.clone()).as_ref() != Some(&now)
    });
    due
}

fn wanted<'a>(
    store: &Store,
    key: &ObjectKey,
    gateway: &'a Gateway,
    accepted: &dyn Fn(&ObjectKey) -> bool,
) -> Wanted<'a> {
    let mut ports: BTreeSet<Port> = gateway.spec.listeners.iter().flat_map(Port::of).collect();
    for set in store.bucket(&Bucket::attached(Kind::ListenerSet, key.clone())) {
        if let Object::ListenerSet(listeners) = set
            && accepted(&set.key())
        {
            ports.extend(listeners.spec.listeners.iter().flat_map(Port::of));
        }
    }
    Wanted { gateway, ports, addresses: addresses(store, key, gateway) }
}

/// Where the Gateway is bound: what its spec names and it can have, and what it was allotted or shares.
fn addresses(store: &Store, key: &ObjectKey, gateway: &Gateway) -> Vec<IpAddr> {
    let entries = &gateway.spec.addresses;
    let named = entries.iter().filter(|entry| !entry.is_in_cluster()).filter_map(GatewayAddress::ip);
    let own = store.in_cluster(key).unwrap_or_default();
    let mut addresses: Vec<IpAddr> =
        named.filter(|ip| !store.taken(key).contains(ip) && !own.contains(ip)).collect();
    if entries.is_empty() || entries.iter().any(|entry| entry.is_open() || entry.is_in_cluster()) {
        addresses.extend(store.allotted(key).or_else(|| store.default_addresses()).unwrap_or_default());
    }
    let ports: Vec<u16> = gateway.spec.listeners.iter().map(|listener| listener.port.get()).collect();
    addresses.retain(|ip| {
        !ports.iter().any(|port| {
            let point = BindPoint { transport: Transport::Tcp, address: SocketAddr::new(*ip, *port) };
            matches!(store.bind(point), Some(BindOutcome::Failed { failure: BindFailure::NotLocal, .. }))
        })
    });
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// The name under which the Gateway has a Service, else one that nobody has; none if all belong to others.
fn service_name(store: &Store, gateway: &Gateway) -> Option<String> {
    let (name, namespace) = (gateway.metadata.name.as_deref()?, gateway.metadata.namespace.as_deref()?);
    let names = names::service(name, gateway.spec.gateway_class_name.as_str());
    let owner = |name: &String| {
        let service = store.get(&ObjectKey::new(Kind::Service, namespace, name.as_str()))?;
        Some(belongs_to(service.metadata(), gateway))
    };
    let own = names.iter().find(|name| owner(name) == Some(true));
    own.or_else(|| names.iter().find(|name| owner(name).is_none())).cloned()
}

/// Whether an object was made by us for this Gateway.
pub(super) fn belongs_to(metadata: &ObjectMeta, gateway: &Gateway) -> bool {
    let uid = gateway.metadata.uid.as_deref();
    owners(metadata).any(|owner| uid == Some(owner))
}

/// The uids of the owners of an object that we made; none of others.
pub(super) fn owners(metadata: &ObjectMeta) -> impl Iterator<Item = &str> {
    let owners = metadata.owner_references.as_deref().filter(|_| is_made_by_us(metadata));
    owners.unwrap_or_default().iter().map(|owner| owner.uid.as_str())
}

fn is_made_by_us(metadata: &ObjectMeta) -> bool {
    let label = |name| metadata.labels.as_ref()?.get(name).map(String::as_str);
    let annotations = metadata.annotations.as_ref();
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    label(MANAGED_BY.0) == Some(MANAGED_BY.1)
        && annotations.is_some_and(|annotations| annotations.contains_key(APPLIED))
        && owners.iter().any(|owner| owner.kind == "Gateway" && owner.controller == Some(true))
}

fn apply(store: &Store, gateway: &Gateway, key: &ObjectKey, mut body: Value) -> Option<Action> {
    let applied = hash(&body);
    insert(&mut body, "/metadata/annotations", APPLIED, applied);
    let Some(object) = store.get(key) else {
        return Some(Action::Create { key: key.clone(), body });
    };
    if !belongs_to(object.metadata(), gateway) || is_as_wanted(object, &body) {
        return None;
    }
    insert(&mut body, "/metadata", "uid", object.metadata().uid.clone()?);
    Some(Action::Update { key: key.clone(), body })
}

fn insert(body: &mut Value, holder: &str, field: &str, value: String) {
    if let Some(fields) = body.pointer_mut(holder).and_then(Value::as_object_mut) {
        fields.insert(field.to_owned(), value.into());
    }
}

fn delete(object: &Object) -> Option<Action> {
    Some(Action::Delete { key: object.key(), uid: object.metadata().uid.clone()? })
}

fn hash(body: &Value) -> String {
    let digest = Sha256::digest(body.to_string().as_bytes());
    digest.iter().take(8).fold(String::with_capacity(16), |mut hash, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

/// Whether an object has all that is wanted, beside what others have added.
fn is_as_wanted(object: &Object, body: &Value) -> bool {
    let held = match object {
        Object::Service(service) => serde_json::to_value(&**service),
        Object::EndpointSlice(slice) => serde_json::to_value(&**slice),
        _ => return false,
    };
    held.is_ok_and(|held| covers(&held, body))
}

fn covers(held: &Value, wanted: &Value) -> bool {
    match (held, wanted) {
        (Value::Object(held), Value::Object(wanted)) => wanted.iter().all(|(field, wanted)| {
            // To whom it belongs was judged before; others may have added owners.
            field == "ownerReferences" || held.get(field).is_some_and(|held| covers(held, wanted))
        }),
        (Value::Array(held), Value::Array(wanted)) => {
            held.len() == wanted.len() && held.iter().zip(wanted).all(|(held, wanted)| covers(held, wanted))
        }
        (held, wanted) => held == wanted,
    }
}
