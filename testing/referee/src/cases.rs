//! Cases written by hand, in YAML: rich objects in `objects/`, and in `cases/` tables of values that
//! break one rule when they are put into them.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    Referee,
    coverage::{Claim, Trial},
    crd::{Limit, Version},
    go, path,
};

/// A file of `cases/`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Where the values of all cases go, by kind.
    sites: BTreeMap<String, Vec<String>>,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it is about: the message of a rule, or a limit as coverage prints it.
    #[serde(alias = "limit")]
    rule: String,
    /// Why another limit always refuses first, so that no object can break this rule.
    shadowed: Option<String>,
    /// Where below the site the values go.
    #[serde(default)]
    at: String,
    /// Where below that the refusal points.
    #[serde(default)]
    cause: String,
    /// Where below the values' place others refuse too, whatever is tried.
    #[serde(default)]
    besides: Vec<String>,
    bad: Value,
    good: Value,
}

/// The rich objects of `objects/`: those of a kind populate all its properties together.
pub fn rich_objects(referee: &Referee) -> Vec<Value> {
    documents(referee, "objects").collect()
}

/// Every case, in every served version whose CRD has its rule.
///
/// # Panics
/// When no version has the rule or limit: the case is about something that no longer exists.
pub fn trials(referee: &Referee, versions: &[Version], rich: &[Value]) -> Vec<Trial> {
    let tables = documents(referee, "cases").map(|table| serde_json::from_value::<Table>(table).unwrap());
    let mut trials = Vec::new();
    for table in tables {
        for case in &table.cases {
            let before = trials.len();
            for (kind, sites) in &table.sites {
                for site in sites {
                    trials.extend(case.trials(kind, site, versions, rich));
                }
            }
            assert!(trials.len() > before, "no CRD has {:?}", case.rule);
        }
    }
    trials
}

fn documents(referee: &Referee, folder: &str) -> impl Iterator<Item = Value> {
    let files = go::yaml_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    referee.read(&files).into_iter().map(|document| {
        assert!(document.object.is_object(), "{} is no YAML", document.file.display());
        document.object
    })
}

impl Case {
    fn trials(&self, kind: &str, site: &str, versions: &[Version], rich: &[Value]) -> Vec<Trial> {
        let place = format!("{site}{}", self.at);
        let object = rich.iter().find(|object| object["kind"] == kind).unwrap();
        let mut trials = Vec::new();
        for (number, version) in versions.iter().enumerate().filter(|(_, version)| version.kind == kind) {
            let Some(site) = self.site_in(version, &format!("{place}{}", self.cause)) else { continue };
            let breaks = match &self.shadowed {
                None => {
                    let besides = self.besides.iter().map(|below| format!("{place}{below}")).collect();
                    Claim::Breaks { site, besides }
                }
                Some(_) => Claim::Shadowed { site },
            };
            let sides = [(&self.bad, breaks), (&self.good, Claim::Keeps { site })];
            for (value, claim) in sides {
                let object = path::with(object, &path::parse(&place), value.clone());
                trials.push(Trial::new(self.rule.clone(), number, version, object, claim).by_hand());
            }
        }
        trials
    }

    fn site_in(&self, version: &Version, cause: &str) -> Option<usize> {
        let path = version.schema_path(cause)?;
        let is_ours = |limit: &Limit| match limit {
            Limit::Rule(message) => *message == self.rule,
            limit => format!("{limit:?}") == self.rule,
        };
        version.sites.iter().position(|site| site.path == path && is_ours(&site.limit))
    }
}
