//! What was tried, and which limits and rules of the CRDs it broke and kept.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{Cause, Verdict, crd::Version};

/// An object put before the referee and portcullis-api.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Where it comes from.
    pub name: String,
    /// The version it is of, as a position in the list of versions.
    pub version: usize,
    /// The object.
    pub object: Value,
    /// What it is to show.
    pub claim: Claim,
    /// Whether a person says so: a generated claim may turn out wrong.
    pub by_hand: bool,
}

/// What an object is to show about a limit or rule, a position in the version's list of sites.
#[derive(Clone, Debug)]
pub enum Claim {
    /// Nothing in particular.
    Nothing,
    /// It breaks this alone.
    Breaks {
        /// What it breaks.
        site: usize,
        /// Where others refuse too, whatever is tried.
        besides: Vec<String>,
    },
    /// It would break this, and another limit refuses first.
    Shadowed {
        /// What it would break.
        site: usize,
    },
    /// It is just inside.
    Keeps {
        /// What it keeps.
        site: usize,
    },
}

impl Claim {
    /// What it is about.
    pub const fn site(&self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Breaks { site, .. } | Self::Shadowed { site } | Self::Keeps { site } => Some(*site),
        }
    }
}

impl Trial {
    /// A trial of an object in this version.
    pub fn new(name: String, number: usize, version: &Version, mut object: Value, claim: Claim) -> Self {
        object["apiVersion"] = Value::from(version.api_version.as_str());
        Self { name, version: number, object, claim, by_hand: false }
    }

    /// The same trial, whose claim must hold.
    #[must_use]
    pub fn by_hand(self) -> Self {
        Self { by_hand: true, ..self }
    }

    /// Whether the verdict bears the claim out.
    pub fn holds(&self, version: &Version, verdict: &Verdict) -> bool {
        match &self.claim {
            Claim::Nothing => true,
            Claim::Keeps { .. } => verdict.allowed,
            Claim::Shadowed { site } => {
                !verdict.allowed && verdict.causes.iter().all(|cause| version.site_of(cause) != Some(*site))
            }
            Claim::Breaks { site, besides } => {
                let breaks = |cause| version.site_of(cause) == Some(*site);
                // What is generated may break other limits of the same field: an empty text has
                // no pattern either, and a number is not among the values of an enumeration.
                let same_field = |cause: &Cause| {
                    let path = version.schema_path(&cause.path).unwrap_or_default();
                    !self.by_hand && path.starts_with(&version.sites[*site].path)
                };
                let excused = |cause: &Cause| besides.contains(&cause.path) || same_field(cause);
                verdict.causes.iter().any(breaks)
                    && verdict.causes.iter().all(|cause| breaks(cause) || excused(cause))
            }
        }
    }
}

/// How often each site of each version was broken alone and kept.
#[derive(Debug)]
pub struct Coverage {
    counts: Vec<Vec<Count>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    broken: usize,
    kept: usize,
}

impl Coverage {
    /// Counts the claims that hold.
    pub fn of(versions: &[Version], trials: &[Trial], verdicts: &[Verdict]) -> Self {
        let mut counts: Vec<_> =
            versions.iter().map(|version| vec![Count::default(); version.sites.len()]).collect();
        for (trial, verdict) in trials.iter().zip(verdicts) {
            if trial.holds(&versions[trial.version], verdict) {
                match &trial.claim {
                    Claim::Nothing => {}
                    Claim::Breaks { site, .. } | Claim::Shadowed { site } => {
                        counts[trial.version][*site].broken += 1;
                    }
                    Claim::Keeps { site } => counts[trial.version][*site].kept += 1,
                }
            }
        }
        Self { counts }
    }

    /// Whether nothing broke this site alone yet, or nothing kept it.
    pub fn lacks(&self, version: usize, site: usize) -> bool {
        let Count { broken, kept } = self.counts[version][site];
        broken == 0 || kept == 0
    }

    /// Whether what a trial is to show was not shown yet.
    pub fn wants(&self, trial: &Trial) -> bool {
        let count = |site: usize| self.counts[trial.version][site];
        match &trial.claim {
            Claim::Nothing => true,
            Claim::Breaks { site, .. } | Claim::Shadowed { site } => count(*site).broken == 0,
            Claim::Keeps { site } => count(*site).kept == 0,
        }
    }

    /// A line for each site: how often it was broken alone, how often kept.
    pub fn report(&self, versions: &[Version]) -> String {
        let mut text = String::new();
        for (version, counts) in versions.iter().zip(&self.counts) {
            writeln!(text, "{} {}", version.kind, version.api_version).unwrap();
            for (site, count) in version.sites.iter().zip(counts) {
                writeln!(text, "  {:>3} broken {:>3} kept  {site}", count.broken, count.kept).unwrap();
            }
        }
        text
    }

    /// The sites that nothing broke alone, or nothing kept.
    pub fn gaps(&self, versions: &[Version]) -> Vec<String> {
        let mut gaps = Vec::new();
        for (version, counts) in versions.iter().zip(&self.counts) {
            for (site, Count { broken, kept }) in version.sites.iter().zip(counts) {
                if *broken == 0 || *kept == 0 {
                    let Version { kind, api_version, .. } = version;
                    gaps.push(format!("{kind} {api_version} {site}: broken {broken} times, kept {kept}"));
                }
            }
        }
        gaps
    }
}
