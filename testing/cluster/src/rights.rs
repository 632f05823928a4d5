//! The rights that `deploy/rbac.yaml` gives the controller, and which of them it uses.

use std::{collections::BTreeSet, fmt, fs, path::Path};

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Deserialize;

use crate::{Error, audit::Asked, node_program};

/// To do something with a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// What, such as `watch`.
    pub verb: String,
    /// The API group; empty for the core's.
    pub group: String,
    /// The plural, with the subresource, if there is one.
    pub resource: String,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{} {}{dot}{}", self.verb, self.resource, self.group)
    }
}

/// The rights that a request needed: one that applies what is not there yet needs two.
fn needed(asked: Asked) -> impl Iterator<Item = Right> {
    let Asked { verb, group, resource, code, .. } = asked;
    let has_created = verb == "patch" && code == 201;
    let right = Right { verb, group, resource };
    let create = has_created.then(|| Right { verb: "create".to_owned(), ..right.clone() });
    create.into_iter().chain([right])
}

/// Every right of the controller.
///
/// # Errors
/// When the manifest cannot be read.
pub fn all() -> Result<BTreeSet<Right>, Error> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        rules: Vec<PolicyRule>,
    }
    let path = node_program::root().join("deploy/rbac.yaml");
    let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let manifests: Vec<Manifest> = serde_saphyr::from_multiple(&text)
        .map_err(|error| Error::file(&path)(std::io::Error::other(error.to_string())))?;
    Ok(manifests.iter().flat_map(|manifest| &manifest.rules).flat_map(of_rule).collect())
}

/// The rights that a rule gives.
pub fn of_rule(rule: &PolicyRule) -> impl Iterator<Item = Right> {
    let lists = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
    let (groups, resources) = (lists(&rule.api_groups), lists(&rule.resources));
    rule.verbs.clone().into_iter().flat_map(move |verb| {
        let resources = resources.clone();
        groups.clone().into_iter().flat_map(move |group| {
            let verb = verb.clone();
            let right = move |resource| Right { verb: verb.clone(), group: group.clone(), resource };
            resources.clone().into_iter().map(right)
        })
    })
}

/// The rights that were not used, by an audit log.
///
/// # Errors
/// When the manifest or the log cannot be read.
pub fn unused(log: &Path) -> Result<BTreeSet<Right>, Error> {
    let text = fs::read_to_string(log).map_err(Error::file(log))?;
    let used: BTreeSet<Right> = text.lines().filter_map(Asked::read).flat_map(needed).collect();
    Ok(all()?.difference(&used).cloned().collect())
}
