//! Which kind and version an object is of.

use serde_json::Value;

use super::rules::{KIND_NOT_READ, KIND_WITHOUT_EFFECT, NO_KIND, VERSION_NOT_SERVED};
use crate::{
    diagnostic::Diagnostic,
    field_path::FieldPath,
    kind::{ENVOY_GATEWAY, GATEWAY_API, Kind},
    spelling::nearest,
};

/// Groups of which every kind is of interest here, whether it is read yet or not.
const OUR_GROUPS: [&str; 3] = [GATEWAY_API, "gateway.networking.x-k8s.io", ENVOY_GATEWAY];

/// A kind and one of its served versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) kind: Kind,
    pub(super) version: &'static str,
}

pub(super) fn identify(value: &Value) -> Result<Identity, Box<Diagnostic>> {
    let text = |name| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let missing = |field: &str| {
        let message = format!("{field} is missing");
        Box::new(Diagnostic::new(&NO_KIND, FieldPath::of(field), message))
    };
    let api_version = text("apiVersion").ok_or_else(|| missing("apiVersion"))?;
    let kind_name = text("kind").ok_or_else(|| missing("kind"))?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = Kind::of(group, kind_name).ok_or_else(|| not_read(group, kind_name))?;
    let served = kind.versions().iter().find(|served| **served == version);
    served.map(|version| Identity { kind, version }).ok_or_else(|| {
        let versions: Vec<_> = kind.versions().iter().map(|version| kind.api_version_of(version)).collect();
        let message = format!("{kind} is not served as {api_version}, but as {}", versions.join(" and "));
        Box::new(Diagnostic::new(&VERSION_NOT_SERVED, FieldPath::of("apiVersion"), message))
    })
}

/// A kind that is not read: worth a warning where it looks like a slip, or where its group is one
/// of ours.
fn not_read(group: &str, kind: &str) -> Box<Diagnostic> {
    let in_group = Kind::ALL.iter().filter(|known| known.group() == group).map(|known| known.as_str());
    let of_group = match group {
        "" => "the core group".to_owned(),
        group => format!("group {group}"),
    };
    let found =
        |rule| Diagnostic::new(rule, FieldPath::of("kind"), format!("{kind} of {of_group} is not read"));
    Box::new(if let Some(name) = nearest(kind, in_group) {
        found(&KIND_WITHOUT_EFFECT).with_hint(format!("did you mean {name}?"))
    } else if OUR_GROUPS.contains(&group) {
        found(&KIND_WITHOUT_EFFECT)
    } else if let Some(known) = Kind::ALL.iter().find(|known| known.as_str() == kind)
        && (group.is_empty() || group.ends_with("k8s.io"))
    {
        found(&KIND_WITHOUT_EFFECT).with_hint(format!("use apiVersion: {}", known.api_version()))
    } else {
        found(&KIND_NOT_READ)
    })
}
