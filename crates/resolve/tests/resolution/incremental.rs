//! An updated resolution is a fresh one, after any edit.

use std::collections::BTreeMap;
use std::sync::Arc;

use portcullis_model::UpstreamScope;
use portcullis_resolve::{CAUSES, Engine, Resolver};
use portcullis_store::{Change, Store};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::agreement;
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
        let mut reached = reached.borrow_mut();
        agreement::follow(&engine, &edits, |store, resolved| reached.note(store, resolved))
            .map_err(TestCaseError::fail)
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
