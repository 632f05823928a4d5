//! [`Feed`]: a cluster as a row of batches.

use crate::batch::Batch;
use crate::discovery;
use crate::kinds::{Extent, extent, resource};
use crate::limits::{READS_AT_A_TIME, SIGNALS_AT_A_TIME, SIGNALS_WAITING};
use crate::mirror::{Command, Mirror};
use crate::raw::Raw;
use crate::reads::{self, Need};
use crate::signal::{Event, Signal};
use crate::watch;
use kube::Client;
use kube::core::PartialObjectMeta;
use portcullis_api::Kind;
use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Notify, Semaphore};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// A cluster as a row of batches: everything at first, then what differs.
///
/// Dropping it ends its watches.
pub struct Feed {
    client: Client,
    mirror: Mirror,
    sender: Sender<Signal>,
    signals: Receiver<Signal>,
    look: Arc<Notify>,
    turns: Arc<Semaphore>,
    tasks: JoinSet<()>,
    watches: HashMap<Kind, AbortHandle>,
    reads: HashMap<Need, AbortHandle>,
}

impl Feed {
    /// Begins to watch. Needs a tokio runtime.
    pub fn start(client: Client) -> Self {
        let (sender, signals) = channel(SIGNALS_WAITING);
        let look = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(discovery::follow(client.clone(), sender.clone(), Arc::clone(&look)));
        Self {
            client,
            mirror: Mirror::new(Instant::now()),
            sender,
            signals,
            look,
            turns: Arc::new(Semaphore::new(READS_AT_A_TIME)),
            tasks,
            watches: HashMap::new(),
            reads: HashMap::new(),
        }
    }

    /// Waits for what comes next; a batch is handed on as soon as there is something in it.
    ///
    /// Nothing is lost when the future is dropped before it is done. While the API server cannot be reached, what
    /// was handed on stays valid, and nothing comes but the problem; afterwards only what differs.
    pub async fn next(&mut self) -> Batch {
        loop {
            if let Some(batch) = self.mirror.hand_out() {
                return batch;
            }
            let deadline = self.mirror.deadline();
            let overdue = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => pending().await,
                }
            };
            let first = tokio::select! {
                signal = self.signals.recv() => signal,
                () = overdue => None,
            };
            self.take(first);
        }
    }

    /// Takes a signal and those that have come with it.
    fn take(&mut self, first: Option<Signal>) {
        let mut signals: Vec<Signal> = first.into_iter().collect();
        while signals.len() < SIGNALS_AT_A_TIME
            && let Ok(signal) = self.signals.try_recv()
        {
            signals.push(signal);
        }
        self.mirror.take(Instant::now(), signals);
        for command in self.mirror.commands() {
            self.carry_out(command);
        }
        while self.tasks.try_join_next().is_some() {} // those that are done
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Watch { kind, version, run } => {
                let task =
                    self.tasks.spawn(follow(self.client.clone(), kind, version, run, self.sender.clone()));
                end(self.watches.insert(kind, task));
            }
            Command::Unwatch(kind) => end(self.watches.remove(&kind)),
            Command::Read { need, version, run } => {
                let (client, turns) = (self.client.clone(), Arc::clone(&self.turns));
                let read = reads::read(client, need.clone(), version, run, turns, self.sender.clone());
                end(self.reads.insert(need, self.tasks.spawn(read)));
            }
            Command::Unread(need) => end(self.reads.remove(&need)),
            Command::Look => self.look.notify_one(),
        }
    }
}

fn end(task: Option<AbortHandle>) {
    if let Some(task) = task {
        task.abort();
    }
}

async fn follow(client: Client, kind: Kind, version: &'static str, run: u64, signals: Sender<Signal>) {
    let resource = resource(kind, version);
    let wrap = move |event: Event| Signal::Watch { kind, run, event };
    match extent(kind) {
        Extent::Whole => watch::follow(watch::all::<Raw>(client, &resource), signals, wrap).await,
        Extent::Referenced => {
            watch::follow(watch::all::<PartialObjectMeta<Raw>>(client, &resource), signals, wrap).await;
        }
    }
}
