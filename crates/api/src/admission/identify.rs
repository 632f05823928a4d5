//! Which kind and version an object is of.

use serde_json::{Map, Value};

use super::rules::{KIND_NOT_READ, KIND_WITHOUT_EFFECT, NO_KIND, NO_SUCH_KIND, VERSION_NOT_SERVED};
use crate::{
    diagnostic::{Diagnostic, Document},
    field_path::FieldPath,
    kind::{ENVOY_GATEWAY, GATEWAY_API, Kind},
    spelling::{nearest, nearest_within},
};

/// Groups of which every kind is of interest here, whether it is read yet or not.
const OUR_GROUPS: [&str; 2] = ["gateway.networking.x-k8s.io", ENVOY_GATEWAY];
/// Characters by which a group may differ from the Gateway API's and still be meant for it. `networking.istio.io`,
/// which has a Gateway of its own, is further away.
const SLIP_OF_GROUP: usize = 4;

/// A kind and one of its served versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) kind: Kind,
    pub(super) version: &'static str,
}

pub(super) fn identify(value: &Value) -> Result<Identity, Box<Diagnostic>> {
    let missing = |field: &str| {
        let message = format!("{field} is missing");
        Box::new(Diagnostic::new(&NO_KIND, FieldPath::of(field), message))
    };
    let api_version = text(value, "apiVersion").ok_or_else(|| missing("apiVersion"))?;
    let kind_name = text(value, "kind").ok_or_else(|| missing("kind"))?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = Kind::of(group, kind_name).ok_or_else(|| not_read(api_version, group, kind_name))?;
    let served = kind.versions().iter().find(|served| **served == version);
    served
        .map(|version| Identity { kind, version })
        .ok_or_else(|| Box::new(not_served(kind, api_version, version)))
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// What an object that has no key says of itself.
pub(super) fn document(fields: &Map<String, Value>) -> Document {
    let text = |fields: Option<&Map<String, Value>>, field: &str| {
        let text = fields?.get(field)?.as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let metadata = fields.get("metadata").and_then(Value::as_object);
    Document {
        api_version: text(Some(fields), "apiVersion"),
        kind: text(Some(fields), "kind"),
        namespace: text(metadata, "namespace"),
        name: text(metadata, "name"),
    }
}

/// A version that a known kind does not have.
fn not_served(kind: Kind, api_version: &str, version: &str) -> Diagnostic {
    let versions: Vec<_> = kind.versions().iter().map(|version| kind.api_version_of(version)).collect();
    let message = format!("{kind} is not served as {api_version}, but as {}", versions.join(" and "));
    let meant = nearest(version, kind.versions().iter().copied());
    let meant = meant.map_or_else(|| kind.api_version(), |meant| kind.api_version_of(meant));
    Diagnostic::new(&VERSION_NOT_SERVED, FieldPath::of("apiVersion"), message)
        .with_hint(format!("did you mean {meant}?"))
}

/// A kind that is not read. An error where the Gateway API is meant, since an API server would not know the kind;
/// worth a warning where it looks like a slip, or where its group is one of ours.
fn not_read(api_version: &str, group: &str, kind: &str) -> Box<Diagnostic> {
    if let Some(diagnostic) = no_such_kind(api_version, group, kind) {
        return Box::new(diagnostic);
    }
    let of_group = match group {
        "" => "the core group".to_owned(),
        group => format!("group {group}"),
    };
    let found =
        |rule| Diagnostic::new(rule, FieldPath::of("kind"), format!("{kind} of {of_group} is not read"));
    Box::new(if let Some(name) = nearest(kind, names_in(group)) {
        found(&KIND_WITHOUT_EFFECT).with_hint(format!("did you mean {name}?"))
    } else if OUR_GROUPS.contains(&group) {
        found(&KIND_WITHOUT_EFFECT)
    } else if let Some(known) = Kind::ALL.iter().find(|known| known.as_str() == kind)
        && is_of_kubernetes(group)
    {
        found(&KIND_WITHOUT_EFFECT).with_hint(format!("use apiVersion: {}", known.api_version()))
    } else {
        found(&KIND_NOT_READ)
    })
}

fn names_in(group: &str) -> impl Iterator<Item = &'static str> {
    Kind::ALL.iter().filter(move |known| known.group() == group).map(|known| known.as_str())
}

/// Whether nobody but Kubernetes can define kinds in a group: it is the core group, or its name is protected.
fn is_of_kubernetes(group: &str) -> bool {
    group.is_empty() || group.ends_with("k8s.io")
}

/// What is meant for the Gateway API and is not there: a kind that its group does not have, or one of its kinds
/// under a group that is not its own, or that is no group at all.
fn no_such_kind(api_version: &str, group: &str, kind: &str) -> Option<Diagnostic> {
    let known = names_in(GATEWAY_API).any(|name| name == kind);
    // `apiVersion: gateway.networking.k8s.io` reads as a version of the core group.
    let group = if group.is_empty() && api_version.contains('.') { api_version } else { group };
    let is_slip =
        group != GATEWAY_API && nearest_within(SLIP_OF_GROUP, group, std::iter::once(GATEWAY_API)).is_some();
    let meant = nearest(kind, names_in(GATEWAY_API));
    let (field, hint) = if known && (is_slip || is_of_kubernetes(group)) {
        ("apiVersion", Some(format!("did you mean apiVersion: {GATEWAY_API}/v1?")))
    } else if group == GATEWAY_API {
        ("kind", meant.map(|name| format!("did you mean {name}?")))
    } else if let Some(name) = meant
        && is_slip
        && !OUR_GROUPS.contains(&group)
    {
        ("apiVersion", Some(format!("did you mean {name} of {GATEWAY_API}/v1?")))
    } else {
        return None;
    };
    let message = format!("there is no kind {kind} in {api_version}");
    let diagnostic = Diagnostic::new(&NO_SUCH_KIND, FieldPath::of(field), message);
    Some(match hint {
        Some(hint) => diagnostic.with_hint(hint),
        None => diagnostic,
    })
}
