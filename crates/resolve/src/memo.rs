//! Memoised queries whose dependencies are recorded while they run.
//!
//! A [`Query`] is a pure function of what it reads through the [`View`]: inputs (objects, misses, index
//! buckets, reports) and other queries. The memo notes every read. When inputs change, a wave marks what
//! may be stale; a query runs again only when something that it read really changed, and an equal answer
//! stops the wave there. What nobody reads any longer is dropped.
//!
//! The scheme is the three-colour one of incremental systems: an input's change makes its readers *dirty*
//! and everything above them *suspect*; a suspect asks those below it first, and is clean again if none of
//! them changed.

mod graph;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use crate::view::{Input, View};
use graph::Graph;
pub(crate) use graph::NodeId;

/// A pure function of what it reads through the view, named by its arguments.
pub(crate) trait Query: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// What it answers. An equal answer keeps the old allocation.
    type Value: PartialEq + Send + Sync + 'static;

    /// Answers from the view alone.
    fn compute(&self, view: &View<'_>) -> Self::Value;

    /// Whether [`Query::revise`] is worth asking. What such a query reads must follow from its inputs alone.
    const REVISES: bool = false;

    /// Answers from the old answer, where nothing that was read has changed but the answers of these queries, which
    /// it may read again. Must be what [`Query::compute`] would answer.
    fn revise(&self, view: &View<'_>, old: &Self::Value, changed: &Changes) -> Option<Self::Value> {
        let _ = (view, old, changed);
        None
    }
}

/// Queries whose answers have changed.
pub(crate) struct Changes(Vec<Arc<dyn Erased>>);

impl Changes {
    /// The queries of one type; nothing if there are others.
    pub(crate) fn only<Q: Query>(&self) -> Option<Vec<&Q>> {
        self.0.iter().map(|query| query.as_any().downcast_ref::<Q>()).collect()
    }
}

type Value = Arc<dyn Any + Send + Sync>;

/// A query whose type is forgotten.
trait Erased: Debug + Send + Sync {
    fn run(&self, view: &View<'_>) -> Value;
    fn revises(&self) -> bool;
    fn rerun(&self, view: &View<'_>, old: &Value, changed: &Changes) -> Option<Value>;
    fn same(&self, one: &Value, other: &Value) -> bool;
    fn as_any(&self) -> &(dyn Any + Send + Sync);
}

impl<Q: Query> Erased for Q {
    fn run(&self, view: &View<'_>) -> Value {
        Arc::new(self.compute(view))
    }

    fn revises(&self) -> bool {
        Q::REVISES
    }

    fn rerun(&self, view: &View<'_>, old: &Value, changed: &Changes) -> Option<Value> {
        let value = self.revise(view, old.downcast_ref::<Q::Value>()?, changed)?;
        Some(Arc::new(value))
    }

    fn same(&self, one: &Value, other: &Value) -> bool {
        match (one.downcast_ref::<Q::Value>(), other.downcast_ref::<Q::Value>()) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

/// The answers so far, and who read whom.
#[derive(Default)]
pub(crate) struct Memo {
    graph: RefCell<Graph>,
    /// What the queries that are running now have read, the innermost last.
    reads: RefCell<Vec<Reads>>,
    frames: Cell<u64>,
    runs: Cell<u64>,
}

struct Reads {
    frame: u64,
    nodes: Vec<NodeId>,
}

impl Memo {
    /// The answer of a query, noted as a read of the query that runs now.
    pub(crate) fn get<Q: Query>(&self, view: &View<'_>, query: &Q) -> Arc<Q::Value> {
        let node = self.graph.borrow_mut().query_node(query);
        self.refresh(view, node);
        self.note(node);
        let value = self.graph.borrow().value(node);
        match value.and_then(|value| value.downcast::<Q::Value>().ok()) {
            Some(value) => value,
            None => Arc::new(query.compute(view)),
        }
    }

    /// Notes that the query that runs now has read an input.
    pub(crate) fn note_input(&self, input: Input) {
        if !self.reads.borrow().is_empty() {
            let node = self.graph.borrow_mut().input_node(input);
            self.note(node);
        }
    }

    /// Keeps a query's answer though no other query reads it, and names it in [`Memo::invalidate`].
    pub(crate) fn pin<Q: Query>(&self, query: &Q) -> NodeId {
        let mut graph = self.graph.borrow_mut();
        let node = graph.query_node(query);
        graph.pin(node);
        node
    }

    /// Undoes [`Memo::pin`].
    pub(crate) fn unpin(&self, node: NodeId) {
        self.graph.borrow_mut().unpin(node);
    }

    /// Marks what the change of these inputs may have made stale; answers with the pinned queries among it.
    pub(crate) fn invalidate(&self, changed: impl IntoIterator<Item = Input>) -> Vec<NodeId> {
        self.graph.borrow_mut().invalidate(changed)
    }

    /// Forgets what no pinned query reads any longer.
    pub(crate) fn collect(&self) {
        self.graph.borrow_mut().collect();
    }

    /// How many times a query has run.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.get()
    }

    fn note(&self, node: NodeId) {
        if let Some(reads) = self.reads.borrow_mut().last_mut()
            && self.graph.borrow_mut().mark_read(node, reads.frame)
        {
            reads.nodes.push(node);
        }
    }

    fn refresh(&self, view: &View<'_>, node: NodeId) {
        let (suspects, revises) = self.graph.borrow_mut().take_suspects(node);
        for suspect in suspects {
            if self.graph.borrow().is_dirty(node) && !revises {
                break;
            }
            self.refresh(view, suspect);
        }
        if self.graph.borrow_mut().settle(node) {
            return;
        }
        let Some(query) = self.graph.borrow().query(node) else { return };
        if revises && self.revise(view, node, &query) {
            return;
        }
        self.frames.set(self.frames.get() + 1);
        self.runs.set(self.runs.get() + 1);
        self.reads.borrow_mut().push(Reads { frame: self.frames.get(), nodes: Vec::new() });
        let value = query.run(view);
        let reads = self.reads.borrow_mut().pop().map_or_else(Vec::new, |reads| reads.nodes);
        self.graph.borrow_mut().finish(node, value, Some(reads));
    }

    /// Answers a query from its old answer, where that can be done. What it has read stays what it was.
    fn revise(&self, view: &View<'_>, node: NodeId, query: &Arc<dyn Erased>) -> bool {
        let (Some(old), Some(changed)) = (self.graph.borrow().value(node), self.graph.borrow().changed(node))
        else {
            return false;
        };
        self.reads.borrow_mut().push(Reads { frame: 0, nodes: Vec::new() });
        let value = query.rerun(view, &old, &Changes(changed));
        self.reads.borrow_mut().pop();
        let Some(value) = value else { return false };
        self.runs.set(self.runs.get() + 1);
        self.graph.borrow_mut().finish(node, value, None);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use portcullis_api::{Kind, ObjectKey, admit};
    use portcullis_store::{Bucket, Change, ChangeSet, Store};

    use super::*;
    use crate::engine::Engine;

    static SUMMED: AtomicUsize = AtomicUsize::new(0);

    /// The generation of a Namespace's object.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Generation(ObjectKey);

    impl Query for Generation {
        type Value = i64;

        fn compute(&self, view: &View<'_>) -> i64 {
            view.object(&self.0).map_or(0, |object| object.metadata().generation.unwrap_or(1))
        }
    }

    /// The sum of all generations.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Sum;

    impl Query for Sum {
        type Value = i64;

        fn compute(&self, view: &View<'_>) -> i64 {
            SUMMED.fetch_add(1, Ordering::Relaxed);
            view.all(Kind::Namespace).into_iter().map(|key| *view.get(&Generation(key))).sum()
        }
    }

    /// The second one's generation, as long as the first one's is 1.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Guarded(ObjectKey, ObjectKey);

    impl Query for Guarded {
        type Value = Option<i64>;

        fn compute(&self, view: &View<'_>) -> Option<i64> {
            let open = view.object(&self.0).is_some_and(|object| object.metadata().generation == Some(1));
            open.then(|| *view.get(&Generation(self.1.clone())))
        }
    }

    fn put(name: &str, generation: i64, label: &str) -> Change {
        let object = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "generation": generation, "labels": {"x": label}},
        });
        Change::Put(admit(object).object.expect("admitted"))
    }

    /// A query's answer after changes, and how many queries ran for it.
    fn ask<Q: Query>(memo: &Memo, store: &Store, query: &Q, changes: ChangeSet) -> (Arc<Q::Value>, u64) {
        let objects = changes.objects.into_iter().map(Input::Object);
        memo.invalidate(objects.chain(changes.buckets.into_iter().map(Input::Bucket)));
        let before = memo.runs();
        let answer = memo.get(&View::new(store, &Engine::native_from_files(), memo), query);
        memo.collect();
        (answer, memo.runs() - before)
    }

    fn namespace(name: &str) -> ObjectKey {
        ObjectKey::new(Kind::Namespace, "", name)
    }

    /// A query runs again if and only if something that it read has changed, and what nobody reads is dropped.
    #[test]
    fn only_what_changed_runs_again() {
        let (memo, mut store) = (Memo::default(), Store::new());
        memo.pin(&Sum);
        let changes = store.apply([put("a", 1, ""), put("b", 2, "")]);
        assert_eq!(*ask(&memo, &store, &Sum, changes).0, 3);
        let summed = SUMMED.load(Ordering::Relaxed);

        let changes = store.apply([put("b", 2, "another")]);
        assert_eq!(
            ask(&memo, &store, &Sum, changes),
            (Arc::new(3), 1),
            "the changed object alone was read again"
        );
        assert_eq!(SUMMED.load(Ordering::Relaxed), summed, "an equal answer stops the wave");

        let changes = store.apply([put("b", 5, "")]);
        assert_eq!(*ask(&memo, &store, &Sum, changes).0, 6);
        let nodes = memo.graph.borrow().len();
        let changes = store.apply([Change::Remove(namespace("b"))]);
        assert!(changes.buckets.contains(&Bucket::all(Kind::Namespace)));
        assert_eq!(*ask(&memo, &store, &Sum, changes).0, 1);
        assert_eq!(
            memo.graph.borrow().len(),
            nodes - 2,
            "the query of the object and the note of its read are gone"
        );
    }

    /// A query that has to run again decides anew what it reads: what it used to read is not asked beforehand.
    #[test]
    fn what_is_no_longer_read_does_not_run() {
        let (memo, mut store) = (Memo::default(), Store::new());
        let guarded = Guarded(namespace("a"), namespace("b"));
        memo.pin(&guarded);
        let changes = store.apply([put("a", 1, ""), put("b", 2, "")]);
        assert_eq!(ask(&memo, &store, &guarded, changes), (Arc::new(Some(2)), 2));
        let changes = store.apply([put("a", 2, ""), put("b", 3, "")]);
        assert_eq!(ask(&memo, &store, &guarded, changes), (Arc::new(None), 1));
    }
}
