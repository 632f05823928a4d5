//! Who read whom, and what may be stale.

use std::any::TypeId;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet, HashTable};

use super::{Erased, Query, Value};
use crate::view::Input;

/// Names a node while it lives; names of dropped nodes are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The value is that of the present inputs.
    Clean,
    /// Something below may have changed.
    Suspect,
    /// Something that it read has changed.
    Dirty,
}

enum Subject {
    Input(Input),
    Query(Arc<dyn Erased>, u64),
}

struct Node {
    subject: Subject,
    value: Option<Value>,
    state: State,
    pinned: bool,
    /// The last run that read this node, so that it is noted once.
    read_by: u64,
    /// Which of those it read may have changed in this wave.
    suspects: Vec<NodeId>,
    /// Which queries that it read have changed in this wave.
    changed: Vec<NodeId>,
    /// Whether an input that it read has changed in this wave.
    input_changed: bool,
    reads: Vec<NodeId>,
    readers: HashSet<NodeId, FixedState>,
}

#[derive(Default)]
pub(crate) struct Graph {
    nodes: Vec<Option<Node>>,
    free: Vec<NodeId>,
    inputs: HashMap<Input, NodeId, FixedState>,
    queries: HashTable<NodeId>,
    hasher: FixedState,
    /// Nodes that have lost their last reader.
    orphans: Vec<NodeId>,
}

impl Graph {
    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)?.as_ref()
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0 as usize)?.as_mut()
    }

    fn add(&mut self, subject: Subject, state: State) -> NodeId {
        let node = Node {
            subject,
            value: None,
            state,
            pinned: false,
            read_by: 0,
            suspects: Vec::new(),
            changed: Vec::new(),
            input_changed: false,
            reads: Vec::new(),
            readers: HashSet::default(),
        };
        if let Some(id) = self.free.pop()
            && let Some(slot) = self.nodes.get_mut(id.0 as usize)
        {
            *slot = Some(node);
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Some(node));
        id
    }

    pub(super) fn input_node(&mut self, input: Input) -> NodeId {
        if let Some(id) = self.inputs.get(&input) {
            return *id;
        }
        let id = self.add(Subject::Input(input.clone()), State::Clean);
        self.inputs.insert(input, id);
        id
    }

    pub(super) fn query_node<Q: Query>(&mut self, query: &Q) -> NodeId {
        let hash = self.hasher.hash_one((TypeId::of::<Q>(), query));
        let found = self.queries.find(hash, |id| match self.node(*id).map(|node| &node.subject) {
            Some(Subject::Query(other, _)) => other.as_any().downcast_ref::<Q>() == Some(query),
            _ => false,
        });
        if let Some(id) = found {
            return *id;
        }
        let id = self.add(Subject::Query(Arc::new(query.clone()), hash), State::Dirty);
        let nodes = &self.nodes;
        self.queries.insert_unique(hash, id, |id| match nodes.get(id.0 as usize) {
            Some(Some(Node { subject: Subject::Query(_, hash), .. })) => *hash,
            _ => 0,
        });
        id
    }

    pub(super) fn value(&self, id: NodeId) -> Option<Value> {
        self.node(id)?.value.clone()
    }

    pub(super) fn query(&self, id: NodeId) -> Option<Arc<dyn Erased>> {
        match &self.node(id)?.subject {
            Subject::Query(query, _) => Some(Arc::clone(query)),
            Subject::Input(_) => None,
        }
    }

    pub(super) fn pin(&mut self, id: NodeId) {
        if let Some(node) = self.node_mut(id) {
            node.pinned = true;
        }
    }

    pub(super) fn unpin(&mut self, id: NodeId) {
        if let Some(node) = self.node_mut(id) {
            node.pinned = false;
            if node.readers.is_empty() {
                self.orphans.push(id);
            }
        }
    }

    /// Whether a node is noted for the first time by this run.
    pub(super) fn mark_read(&mut self, id: NodeId, frame: u64) -> bool {
        self.node_mut(id).is_some_and(|node| mem::replace(&mut node.read_by, frame) != frame)
    }

    pub(super) fn is_dirty(&self, id: NodeId) -> bool {
        self.node(id).is_some_and(|node| node.state == State::Dirty)
    }

    /// The suspects of a node, and whether all of them must be asked: its query revises, and no input is amiss.
    pub(super) fn take_suspects(&mut self, id: NodeId) -> (Vec<NodeId>, bool) {
        let Some(node) = self.node_mut(id) else { return (Vec::new(), false) };
        let revises = node.state != State::Clean
            && node.value.is_some()
            && !node.input_changed
            && matches!(&node.subject, Subject::Query(query, _) if query.revises());
        (mem::take(&mut node.suspects), revises)
    }

    /// The queries whose change made a node dirty; nothing if an input did.
    pub(super) fn changed(&self, id: NodeId) -> Option<Vec<Arc<dyn Erased>>> {
        let node = self.node(id).filter(|node| !node.input_changed)?;
        node.changed.iter().map(|changed| self.query(*changed)).collect()
    }

    /// Whether a node need not run: it is clean, or a suspect whose suspects have all been asked.
    pub(super) fn settle(&mut self, id: NodeId) -> bool {
        match self.node_mut(id) {
            Some(node) if node.state == State::Dirty => false,
            Some(node) => {
                node.state = State::Clean;
                true
            }
            None => true,
        }
    }

    /// Takes a run's answer, and what the run has read unless that is what it was. A different one makes those who read the old one dirty.
    pub(super) fn finish(&mut self, id: NodeId, value: Value, reads: Option<Vec<NodeId>>) {
        let Some(node) = self.node_mut(id) else { return };
        node.state = State::Clean;
        node.suspects.clear();
        node.changed.clear();
        node.input_changed = false;
        let equal = match (&node.value, &node.subject) {
            (Some(old), Subject::Query(query, _)) => query.same(old, &value),
            _ => false,
        };
        if !equal {
            node.value = Some(value);
            let readers: Vec<NodeId> = node.readers.iter().copied().collect();
            for reader in readers {
                if let Some(reader) = self.node_mut(reader) {
                    reader.state = State::Dirty;
                    reader.changed.push(id);
                }
            }
        }
        if let Some(reads) = reads {
            self.replace_reads(id, reads);
        }
    }

    fn replace_reads(&mut self, id: NodeId, reads: Vec<NodeId>) {
        let Some(node) = self.node_mut(id) else { return };
        if node.reads == reads {
            return;
        }
        let kept: HashSet<NodeId, FixedState> = reads.iter().copied().collect();
        let old = mem::replace(&mut node.reads, reads);
        for read in &kept {
            if let Some(read) = self.node_mut(*read) {
                read.readers.insert(id);
            }
        }
        for read in old.into_iter().filter(|read| !kept.contains(read)) {
            self.leave(id, read);
        }
    }

    fn leave(&mut self, reader: NodeId, read: NodeId) {
        if let Some(node) = self.node_mut(read) {
            node.readers.remove(&reader);
            if node.readers.is_empty() && !node.pinned {
                self.orphans.push(read);
            }
        }
    }

    pub(super) fn invalidate(&mut self, changed: impl IntoIterator<Item = Input>) -> Vec<NodeId> {
        let mut pinned = Vec::new();
        let mut wave = Vec::new();
        for input in changed {
            let Some(id) = self.inputs.get(&input).copied() else { continue };
            let readers: Vec<NodeId> =
                self.node(id).into_iter().flat_map(|n| n.readers.iter().copied()).collect();
            for reader in readers {
                let Some(node) = self.node_mut(reader) else { continue };
                node.input_changed = true;
                if mem::replace(&mut node.state, State::Dirty) == State::Clean {
                    pinned.extend(node.pinned.then_some(reader));
                    wave.push(reader);
                }
            }
        }
        while let Some(below) = wave.pop() {
            let readers: Vec<NodeId> =
                self.node(below).into_iter().flat_map(|n| n.readers.iter().copied()).collect();
            for reader in readers {
                let Some(node) = self.node_mut(reader) else { continue };
                node.suspects.push(below);
                if node.state == State::Clean {
                    node.state = State::Suspect;
                    pinned.extend(node.pinned.then_some(reader));
                    wave.push(reader);
                }
            }
        }
        pinned
    }

    pub(super) fn collect(&mut self) {
        while let Some(id) = self.orphans.pop() {
            let Some(slot) = self.nodes.get_mut(id.0 as usize) else { continue };
            let Some(node) = slot.take_if(|node| node.readers.is_empty() && !node.pinned) else { continue };
            self.free.push(id);
            match &node.subject {
                Subject::Input(input) => {
                    self.inputs.remove(input);
                }
                Subject::Query(_, hash) => {
                    if let Ok(entry) = self.queries.find_entry(*hash, |other| *other == id) {
                        entry.remove();
                    }
                }
            }
            for read in node.reads {
                self.leave(id, read);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.iter().flatten().count()
    }
}
