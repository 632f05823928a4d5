//! An updated resolution is a fresh one, after any edit.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_model::UpstreamScope;
use portcullis_resolve::{CAUSES, Engine, Resolver, resolve};
use portcullis_store::{Change, Store};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::expect;
use crate::reached::Reached;
use crate::universe::{self, Edit};

/// Sequences of edits, and edits in each, unless `RESOLVE_RUNS` asks for more sequences.
const RUNS: u32 = 80;
const EDITS: usize = 40;

/// [`Resolver::update`] gives what [`resolve`] gives afresh: model, statuses and findings, and the same allocation
/// for a model that is the same. Every cause, condition and tie-break is reached on the way.
#[test]
fn an_update_is_a_rebuild() {
    let runs = std::env::var("RESOLVE_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let config =
        Config { cases: runs, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let reached = std::cell::RefCell::new(Reached::default());
    let edits = prop::collection::vec(universe::edit(), 1..EDITS);
    let in_cluster = prop::bool::weighted(0.2);
    let result = runner.run(&(edits, in_cluster), |(edits, in_cluster)| {
        let engine = if in_cluster { cluster() } else { Engine::native_from_files() };
        follow(&engine, &edits, &mut reached.borrow_mut()).map_err(TestCaseError::fail)
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(why, (edits, _))) => panic!("{why}\nafter\n{}", describe(&edits)),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    let reached = reached.into_inner();
    println!("{reached}");
    let missed = reached.missed();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}

/// The engine for a cluster, where backends may not be anywhere.
fn cluster() -> Engine {
    Engine::native_in_cluster(UpstreamScope::Network { allowed: [].into(), unix: false })
}

fn follow(engine: &Engine, edits: &[Edit], reached: &mut Reached) -> Result<(), String> {
    let mut store = Store::new();
    store.apply(universe::beginning());
    let mut resolver = Resolver::new(engine.clone(), &store);
    for edit in edits {
        let Some(changes) = edit.changes() else { continue };
        let changes = store.apply(changes);
        let before = Arc::clone(&resolver.resolved().model);
        let statuses = resolver.resolved().statuses.clone();
        let changed = resolver.update(&store, &changes);
        let fresh = resolve(&store, engine);
        if let Some(difference) = expect::difference(resolver.resolved(), &fresh) {
            return Err(format!("{edit}: {difference}"));
        }
        let resolved = resolver.resolved();
        if changed.model == Arc::ptr_eq(&before, &resolved.model) {
            return Err(format!("{edit}: whether the model has changed is told wrongly"));
        }
        let silent = resolved
            .statuses
            .iter()
            .find(|(key, status)| statuses.get(*key) != Some(*status) && !changed.objects.contains(*key));
        if let Some((key, _)) = silent {
            return Err(format!("{edit}: the status of {key} changed silently"));
        }
        let gone = statuses.keys().find(|key| !resolved.statuses.contains_key(*key));
        if let Some(key) = gone.filter(|key| !changed.objects.contains(*key)) {
            return Err(format!("{edit}: {key} lost its status silently"));
        }
        reached.note(&store, resolved);
    }
    Ok(())
}

fn describe(edits: &[Edit]) -> String {
    edits.iter().map(|edit| format!("  {edit}")).collect::<Vec<_>>().join("\n")
}

/// The causes by code, for the count.
pub(crate) fn causes() -> BTreeMap<&'static str, &'static str> {
    CAUSES.iter().map(|cause| (cause.rule.code, cause.rule.summary)).collect()
}

/// An edit that puts what is there already changes nothing.
#[test]
fn equal_input_is_equal_output() {
    let engine = Engine::native_from_files();
    let mut store = Store::new();
    store.apply(universe::beginning());
    let mut resolver = Resolver::new(engine, &store);
    let before = Arc::clone(&resolver.resolved().model);
    let same: Vec<Change> = store.objects().cloned().map(Change::Put).collect();
    let changes = store.apply(same);
    let changed = resolver.update(&store, &changes);
    assert_eq!(changed, portcullis_resolve::Changed::default());
    assert!(Arc::ptr_eq(&before, &resolver.resolved().model));
}
