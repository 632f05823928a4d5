//! What a property test has reached, so that a rule that it never tries is seen.

use std::collections::BTreeMap;
use std::fmt;

use portcullis_api::status::Condition;
use portcullis_api::{Object, ObjectKey};
use portcullis_resolve::{Resolved, Status};
use portcullis_store::{Bucket, Store};

use crate::incremental::causes;

#[derive(Default)]
pub(crate) struct Reached {
    counts: BTreeMap<String, usize>,
}

/// Conditions that a resolution can give, beside those of causes: what is True or Unknown.
const CONDITIONS: [&str; 17] = [
    "GatewayClass Accepted=True/Accepted",
    "Gateway Accepted=True/Accepted",
    "Gateway Accepted=True/ListenersNotValid",
    "Gateway Accepted=Unknown/Pending",
    "Gateway Programmed=True/Programmed",
    "Gateway Programmed=Unknown/Pending",
    "Gateway ResolvedRefs=True/ResolvedRefs",
    "Gateway AddressesAssigned=True/AddressesAssigned",
    "ListenerSet Accepted=True/Accepted",
    "ListenerSet Accepted=True/ListenersNotValid",
    "ListenerSet Programmed=True/Programmed",
    "ListenerSet Programmed=Unknown/Pending",
    "listener Accepted=Unknown/Pending",
    "listener Programmed=Unknown/Pending",
    "route Accepted=True/Accepted",
    "route ResolvedRefs=True/ResolvedRefs",
    "route PartiallyInvalid=True/UnsupportedValue",
];

/// What decides who stays, where listeners conflict.
const TIE_BREAKS: [&str; 4] = [
    "tie-break: a ListenerSet by age",
    "tie-break: a ListenerSet by name",
    "tie-break: a Gateway by age",
    "tie-break: a Gateway by name",
];

impl Reached {
    fn count(&mut self, what: String) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(crate) fn note(&mut self, store: &Store, resolved: &Resolved) {
        for diagnostic in resolved.diagnostics.values().flat_map(|list| list.iter()) {
            self.count(diagnostic.rule.code.to_owned());
        }
        for (key, status) in &resolved.statuses {
            match &**status {
                Status::GatewayClass(status) => self.conditions("GatewayClass", &status.conditions),
                Status::Gateway(status) => {
                    self.conditions("Gateway", &status.conditions);
                    for listener in &status.listeners {
                        self.conditions("listener", &listener.conditions);
                        self.tie_break(store, key, &listener.conditions, "Gateway");
                    }
                }
                Status::ListenerSet(status) => {
                    self.conditions("ListenerSet", &status.conditions);
                    for listener in &status.listeners {
                        self.conditions("listener", &listener.conditions);
                        self.tie_break(store, key, &listener.conditions, "ListenerSet");
                    }
                }
                Status::Route(status) => {
                    for parent in &status.parents {
                        self.conditions("route", &parent.conditions);
                    }
                }
                Status::Policy(status) => {
                    for ancestor in &status.ancestors {
                        self.conditions("policy", &ancestor.conditions);
                    }
                }
            }
        }
    }

    fn conditions(&mut self, of: &str, conditions: &[Condition]) {
        for found in conditions {
            self.count(format!("{of} {}={}/{}", found.condition_type, found.status, found.reason));
        }
    }

    /// A listener that lost, while another object of its kind came earlier by age or by name.
    fn tie_break(&mut self, store: &Store, loser: &ObjectKey, conditions: &[Condition], kind: &str) {
        let lost = |found: &&Condition| {
            let reason = found.reason.as_str();
            kind == "ListenerSet" && found.condition_type.as_str() == "Conflicted"
                || reason == "PortUnavailable"
        };
        if !conditions.iter().any(|found| lost(&found)) {
            return;
        }
        let created = |object: &Object| object.metadata().creation_timestamp.as_ref().map(|time| time.0);
        let Some(own) = store.get(loser).map(created) else { return };
        let rivals = store.bucket(&Bucket::all(loser.kind)).filter(|object| object.key() != *loser);
        for rival in rivals {
            let by = match (created(rival), own) {
                (Some(rival), Some(own)) if rival < own => "age",
                (Some(_), None) => "age",
                (rival, own) if rival == own => "name",
                _ => continue,
            };
            self.count(format!("tie-break: a {kind} by {by}"));
        }
    }

    /// What was expected and never seen.
    pub(crate) fn missed(&self) -> Vec<String> {
        let causes =
            causes().into_iter().map(|(code, summary)| (code.to_owned(), format!("{code} ({summary})")));
        let others =
            CONDITIONS.iter().chain(&TIE_BREAKS).map(|name| ((*name).to_owned(), (*name).to_owned()));
        let missed = causes.chain(others).filter(|(name, _)| !self.counts.contains_key(name));
        missed.map(|(_, text)| text).collect()
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = causes();
        for (what, count) in &self.counts {
            let summary = causes.get(what.as_str()).copied().unwrap_or_default();
            writeln!(f, "{count:7} {what} {summary}")?;
        }
        Ok(())
    }
}
