//! Matches that no request reaches.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_api::{Diagnostic, FieldPath, Kind, ObjectKey};
use portcullis_model::{Model, RuleId};
use portcullis_routing::shadowed;

use super::rules::SHADOWED;

/// A match counts where it is shadowed under every listener that takes its route.
pub(super) fn lint(model: &Model) -> Vec<Diagnostic> {
    let mut listeners: Vec<_> = model.ports.values().flat_map(|port| &port.listeners).collect();
    listeners.sort_by_key(|listener| (listener.id.clone(), listener.port));
    listeners.dedup_by(|one, other| Arc::ptr_eq(one, other));
    let mut takers: BTreeMap<&RuleId, usize> = BTreeMap::new();
    let mut found: BTreeMap<(RuleId, usize), (usize, RuleId)> = BTreeMap::new();
    for listener in &listeners {
        for rule in listener.routes.iter().flat_map(|route| &route.rules) {
            *takers.entry(&rule.id).or_default() += 1;
        }
        for shadow in shadowed(listener) {
            let entry = found.entry((shadow.rule.id.clone(), shadow.match_index));
            entry.or_insert_with(|| (0, shadow.by.id.clone())).0 += 1;
        }
    }
    let everywhere = found.into_iter().filter(|((rule, _), (times, _))| takers.get(rule) == Some(times));
    everywhere.filter_map(|((rule, index), (_, by))| finding(&rule, index, &by)).collect()
}

fn finding(rule: &RuleId, match_index: usize, by: &RuleId) -> Option<Diagnostic> {
    let route = &rule.route;
    let kind = Kind::ALL.iter().copied().find(|kind| kind.as_str() == &*route.kind)?;
    let path = FieldPath::of("spec").field("rules").index(rule.index).field("matches").index(match_index);
    let message = format!("rule {} of {} takes every request of this match first", by.index, by.route);
    let key = ObjectKey::new(kind, route.namespace.clone(), route.name.clone());
    Some(Diagnostic::new(&SHADOWED, path, message).about(key))
}
