//! [`Desk`]: the task that knows every object, and decides which is written next.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Unit};
use kube::Client;
use portcullis_api::{Kind, ObjectKey};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};

use super::entry::{Entry, Wanted};
use super::flight::{Landing, fly};
use super::{News, WriteCounts};
use crate::Seen;
use crate::requests::Refusal;
use crate::statuses::{Author, Lacks};

/// Requests in flight at once.
const FLIGHTS: usize = 16;
/// Objects that are compared in one go before other tasks of the thread get their turn.
const BURST: usize = 64;
/// The same failure of a kind is a warning at most this often.
const REMINDER: Duration = Duration::from_secs(60);

pub(super) struct Desk {
    client: Client,
    controllers: Arc<[Arc<str>]>,
    leading: watch::Receiver<bool>,
    count: watch::Sender<WriteCounts>,
    objects: HashMap<ObjectKey, Entry>,
    /// To be compared, in order.
    queue: VecDeque<ObjectKey>,
    /// To be queued later.
    later: BTreeSet<(Instant, ObjectKey)>,
    flights: JoinSet<(ObjectKey, Landing)>,
    /// What the served schemas lack, by kind and version.
    lacks: HashMap<(Kind, &'static str), Lacks>,
    /// When a failure was last a warning, by kind and HTTP status.
    warned: HashMap<(Kind, u16), Instant>,
}

impl Desk {
    pub(super) fn new(
        client: Client,
        controllers: Vec<Arc<str>>,
        leading: watch::Receiver<bool>,
        count: watch::Sender<WriteCounts>,
    ) -> Desk {
        Desk {
            client,
            controllers: controllers.into(),
            leading,
            count,
            objects: HashMap::new(),
            queue: VecDeque::new(),
            later: BTreeSet::new(),
            flights: JoinSet::new(),
            lacks: HashMap::new(),
            warned: HashMap::new(),
        }
    }

    /// Works until the inbox is closed.
    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<News>) {
        let mut news = Vec::new();
        self.leading.mark_changed();
        loop {
            let soon = self.later.first().map(|(at, _)| *at);
            tokio::select! {
                biased;
                changed = self.leading.changed() => match changed {
                    Ok(()) => self.lead(),
                    Err(_) => return,
                },
                Some(Ok((key, landing))) = self.flights.join_next() => self.land(&key, landing),
                received = inbox.recv_many(&mut news, BURST) => match received {
                    0 => return,
                    _ => news.drain(..).for_each(|news| self.hear(news)),
                },
                () = sleep_until(soon.unwrap_or_else(Instant::now)), if soon.is_some() => self.call_up(),
                () = tokio::task::yield_now(), if self.has_work() => {}
            }
            self.launch();
            self.tell_pending();
        }
    }

    fn is_leading(&self) -> bool {
        *self.leading.borrow()
    }

    fn has_work(&self) -> bool {
        self.is_leading() && !self.queue.is_empty() && self.flights.len() < FLIGHTS
    }

    /// Whoever begins to lead compares everything; whoever ceases to lead drops what is under way.
    fn lead(&mut self) {
        self.flights = JoinSet::new();
        self.queue.clear();
        self.later.clear();
        let leading = *self.leading.borrow_and_update();
        for (key, entry) in &mut self.objects {
            entry.flying = false;
            entry.delays = None;
            entry.queued = leading;
            if leading {
                self.queue.push_back(key.clone());
            }
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Seen(seen) => seen.into_iter().for_each(|seen| self.see(seen)),
            News::Wanted(wanted) => {
                for (key, status) in wanted {
                    self.objects.entry(key.clone()).or_default().wanted =
                        status.map_or(Wanted::Nothing, Wanted::Status);
                    self.enqueue(key);
                }
            }
        }
    }

    fn see(&mut self, Seen { key, held }: Seen) {
        let entry = self.objects.entry(key.clone()).or_default();
        match held {
            Some(held) => entry.hold(held),
            None => entry.lose(),
        }
        self.enqueue(key);
    }

    fn enqueue(&mut self, key: ObjectKey) {
        let leading = self.is_leading();
        let Some(entry) = self.objects.get_mut(&key) else { return };
        if entry.is_spent() {
            self.objects.remove(&key);
        } else if leading && !std::mem::replace(&mut entry.queued, true) {
            self.queue.push_back(key);
        }
    }

    /// Queues what has waited long enough.
    fn call_up(&mut self) {
        let now = Instant::now();
        while self.later.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.enqueue(key);
            }
        }
    }

    /// Starts what is to be done for the first objects of the queue.
    fn launch(&mut self) {
        let now = Timestamp::now();
        let now = now.round(Unit::Second).unwrap_or(now).to_string();
        for _ in 0..BURST {
            if !self.has_work() {
                return;
            }
            if let Some(key) = self.queue.pop_front() {
                self.consider(key, &now);
            }
        }
    }

    fn consider(&mut self, key: ObjectKey, now: &str) {
        let Some(entry) = self.objects.get_mut(&key) else { return };
        entry.queued = false;
        if entry.flying {
            return;
        }
        let none = Lacks::default();
        let version = entry.held.as_ref().map_or("", |held| held.version);
        let lacks = self.lacks.get(&(key.kind, version)).unwrap_or(&none);
        let author = Author { controllers: &self.controllers, now, lacks };
        if let Some(task) = entry.task(&key, &author) {
            entry.take_off();
            let flight = fly(self.client.clone(), key.clone(), task, Arc::clone(&self.controllers));
            self.flights.spawn(async move { (key, flight.await) });
        }
    }

    fn land(&mut self, key: &ObjectKey, landing: Landing) {
        let Some(entry) = self.objects.get_mut(key) else { return };
        entry.flying = false;
        let mut delay = None;
        match landing {
            Landing::Written { status, held } => {
                let lacks = self.lacks.entry((key.kind, held.version)).or_default();
                entry.settle(status, held, lacks);
                self.count.send_modify(|counts| counts.written += 1);
            }
            Landing::Read(held) => entry.read(held),
            Landing::Clean(held) => entry.cleaned(held),
            // The watch says so too if the object is gone. An API server that has just started may not know the kind
            // yet.
            Landing::Gone => delay = entry.failure(),
            Landing::Conflict => {
                delay = entry.conflict();
                self.count.send_modify(|counts| counts.conflicts += 1);
            }
            Landing::Failed(refusal) => {
                delay = entry.failure();
                self.count.send_modify(|counts| counts.failures += 1);
                self.complain(key, &refusal);
            }
        }
        match delay {
            Some(delay) => {
                self.later.insert((Instant::now() + delay, key.clone()));
            }
            None => self.enqueue(key.clone()),
        }
    }

    /// One warning for what fails alike for every object of a kind, such as a missing permission.
    fn complain(&mut self, key: &ObjectKey, refusal: &Refusal) {
        let now = Instant::now();
        let last = self.warned.get(&(key.kind, refusal.code()));
        if last.is_some_and(|last| now.duration_since(*last) < REMINDER) {
            debug!(object = %key, %refusal, "status not written");
            return;
        }
        self.warned.insert((key.kind, refusal.code()), now);
        warn!(object = %key, %refusal, "status not written; it is tried again");
    }

    fn tell_pending(&self) {
        let pending = self.queue.len() + self.flights.len() + self.later.len();
        self.count.send_if_modified(|counts| std::mem::replace(&mut counts.pending, pending) != pending);
    }
}
