//! [`Mirror`]: what the cluster has said so far, and what of it has been handed on.
//!
//! It does no I/O: signals go in, batches and commands come out. Objects are handed on in the order in which they
//! make sense: one that refers to something not known waits until that has been read.

mod contents;
mod kinds;
mod known;
mod needs;
mod problems;
mod received;
mod waiting;

use crate::batch::{Batch, Subject};
use crate::limits::HOLD_AT_START;
use crate::reads::Need;
use crate::signal::{Event, Signal};
use contents::Content;
use kinds::Watched;
use known::Known;
use needs::Pending;
use portcullis_api::{Kind, ObjectKey};
use portcullis_store::{Change, Report};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use tokio::time::Instant;
use waiting::Waiting;

/// What is to be done for the mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Watch a kind in this version, and no longer in another; `run` goes into its signals.
    Watch { kind: Kind, version: &'static str, run: u64 },
    /// Watch a kind no longer.
    Unwatch(Kind),
    /// Read; `run` goes into its signals.
    Read { need: Need, version: &'static str, run: u64 },
    /// An answer is no longer of interest.
    Unread(Need),
    /// Look which kinds are served.
    Look,
}

/// How far the beginning has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Some kind has not been listed, or the CRDs have not.
    Listing,
    /// What the listed objects refer to is being read.
    Reading,
    /// What has been handed on is a whole configuration.
    Synced,
}

/// What the cluster has said.
pub(crate) struct Mirror {
    stage: Stage,
    /// Whether the next batch is the first whole one.
    is_first: bool,
    /// None until discovery has answered.
    kinds: Option<BTreeMap<Kind, Watched>>,
    /// Whether it was said which CRDs are installed.
    has_definitions: bool,
    /// Of which kinds it was said last that nothing can be there.
    unserved: Arc<[Kind]>,
    /// What has been handed on.
    known: HashMap<ObjectKey, Known>,
    /// What is held back.
    waiting: HashMap<ObjectKey, Waiting>,
    /// Of those, the ones that have all they need.
    ready: VecDeque<ObjectKey>,
    /// What is being read or waited for.
    pending: HashMap<Need, Pending>,
    /// Secrets and ConfigMaps that some object refers to.
    contents: HashMap<ObjectKey, Content>,
    /// Who refers to a Service, Backend, Secret or ConfigMap, of what has been handed on.
    referrers: HashMap<ObjectKey, HashSet<ObjectKey>>,
    /// How many EndpointSlices of a Service have been handed on.
    endpoints: HashMap<ObjectKey, usize>,
    problems: BTreeMap<Subject, String>,
    batch: Batch,
    commands: Vec<Command>,
    /// Tells watches and reads from earlier ones of the same.
    runs: u64,
    now: Instant,
}

impl Mirror {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            stage: Stage::Listing,
            is_first: true,
            kinds: None,
            has_definitions: false,
            unserved: Arc::default(),
            known: HashMap::new(),
            waiting: HashMap::new(),
            ready: VecDeque::new(),
            pending: HashMap::new(),
            contents: HashMap::new(),
            referrers: HashMap::new(),
            endpoints: HashMap::new(),
            problems: BTreeMap::new(),
            batch: Batch::default(),
            commands: Vec::new(),
            runs: 0,
            now,
        }
    }

    /// Takes signals that were all there at this time.
    pub(crate) fn take(&mut self, now: Instant, signals: impl IntoIterator<Item = Signal>) {
        self.now = now;
        for signal in signals {
            self.signal(signal);
            self.hand_on_ready();
        }
        self.release_overdue();
        self.advance();
    }

    /// What is to be done now.
    pub(crate) fn commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// What there is to hand on. Before everything is known, only problems are.
    pub(crate) fn hand_out(&mut self) -> Option<Batch> {
        if self.stage != Stage::Synced {
            let problems = std::mem::take(&mut self.batch.problems);
            return (!problems.is_empty()).then(|| Batch { problems, ..Batch::default() });
        }
        if self.batch.is_empty() && !self.is_first {
            return None;
        }
        self.is_first = false;
        Some(Batch { synced: true, ..std::mem::take(&mut self.batch) })
    }

    /// When something has waited long enough.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.waiting.values().filter_map(|waiting| waiting.until).min()
    }

    fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::Served(served) => {
                self.set_problem(Subject::Discovery, None);
                self.serve(&served);
            }
            Signal::DiscoveryFailed(message) => self.set_problem(Subject::Discovery, Some(message)),
            Signal::Definitions(versions) => {
                self.has_definitions = true;
                self.batch.changes.push(Change::Report(Report::BundleVersions(Arc::new(versions))));
            }
            Signal::Watch { kind, run, event } => self.watched(kind, run, event),
            Signal::Read { need, run, found } => {
                for object in found {
                    self.object(need.kind(), object);
                }
                self.answered(&need, run);
            }
            Signal::ReadFailed { need, run, failure } => self.read_failed(&need, run, failure),
        }
    }

    fn watched(&mut self, kind: Kind, run: u64, event: Event) {
        if self.watched_kind(kind).is_none_or(|watched| watched.run != run) {
            return; // of a watch that has been ended
        }
        match event {
            Event::Listing => self.list_begins(kind),
            Event::Listed(object) | Event::Applied(object) => self.changed(kind, object),
            Event::Deleted(object) => self.deleted(kind, &object),
            Event::Complete => self.list_ends(kind),
            Event::Failed(failure) => {
                if failure.is_not_found() {
                    self.commands.push(Command::Look);
                } else if !failure.is_forgotten() {
                    self.set_problem(Subject::Kind(kind), Some(failure.message));
                }
                return;
            }
        }
        self.set_problem(Subject::Kind(kind), None);
    }

    /// Goes on to the next stage when this one is over.
    fn advance(&mut self) {
        if self.stage == Stage::Listing && self.has_definitions && self.is_listed() {
            self.stage = Stage::Reading;
            // Sorted, so that Gateways are looked at before what attaches to them.
            let waiting: BTreeSet<ObjectKey> = self.waiting.keys().cloned().collect();
            for key in waiting {
                self.await_needs(&key, self.now + HOLD_AT_START);
            }
            self.hand_on_ready();
        }
        if self.stage == Stage::Reading && !self.waiting.values().any(|waiting| waiting.is_of_the_start) {
            self.stage = Stage::Synced;
        }
    }

    fn next_run(&mut self) -> u64 {
        self.runs += 1;
        self.runs
    }
}
