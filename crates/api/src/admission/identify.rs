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

fn not_read(group: &str, kind: &str) -> Box<Diagnostic> {
    let path = FieldPath::of("kind");
    let known = || Kind::ALL.iter().copied();
    if let Some(elsewhere) = known().find(|known| known.as_str() == kind)
        && !OUR_GROUPS.contains(&group)
        && OUR_GROUPS.contains(&elsewhere.group())
    {
        let message = format!("{kind} of group {group:?} is not read");
        let hint = format!("use apiVersion: {}", elsewhere.api_version());
        return Box::new(Diagnostic::new(&KIND_NOT_READ, path, message).with_hint(hint));
    }
    if !OUR_GROUPS.contains(&group) {
        let message = format!("{kind} of group {group:?} is not read");
        return Box::new(Diagnostic::new(&KIND_NOT_READ, path, message));
    }
    let message = format!("{kind} of group {group} has no effect");
    let diagnostic = Diagnostic::new(&KIND_WITHOUT_EFFECT, path, message);
    let in_group = known().filter(|known| known.group() == group).map(Kind::as_str);
    Box::new(match nearest(kind, in_group) {
        Some(name) => diagnostic.with_hint(format!("did you mean {name}?")),
        None => diagnostic,
    })
}
