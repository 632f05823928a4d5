//! Which of several controllers leads: a Lease of `coordination.k8s.io`, held as client-go holds it.
//!
//! Who leads renews every 2 s, and ceases to lead 10 s after the last renewal that succeeded; others take over when
//! the Lease has not changed for its 15 s by their own clock. Clocks are never compared between machines, and the 5 s
//! between are for writes that are still on their way.

mod lease;
#[cfg(test)]
mod tests;

use std::time::Duration;

use kube::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tracing::{debug, info, warn};

use crate::requests::Refusal;
use lease::Holding;

/// How long a Lease is valid after its last change.
const DURATION: Duration = Duration::from_secs(15);
/// How long after the last renewal its holder still leads.
const DEADLINE: Duration = Duration::from_secs(10);
/// The time between two tries.
const RETRY: Duration = Duration::from_secs(2);

/// Who stands for election, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// What tells this controller from every other one, such as its pod's name.
    pub identity: String,
}

/// A candidacy, until it is ended.
#[derive(Debug)]
pub struct Election {
    leading: watch::Receiver<bool>,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Election {
    /// Stands for election from now on, on the current runtime.
    #[must_use]
    pub fn start(client: Client, candidate: Candidate) -> Election {
        let (lead, leading) = watch::channel(false);
        let (end, ended) = oneshot::channel();
        let campaign = Campaign { holding: Holding::new(client, candidate), lead, complaint: None };
        Election { leading, end, task: tokio::spawn(campaign.run(ended)) }
    }

    /// Whether this controller leads.
    #[must_use]
    pub fn leading(&self) -> watch::Receiver<bool> {
        self.leading.clone()
    }

    /// Ceases to lead and gives the Lease back, so that another one need not wait for its end.
    pub async fn end(self) {
        // Where the task is gone there is nothing to end.
        let _ = self.end.send(());
        let _ = self.task.await;
    }
}

struct Campaign {
    holding: Holding,
    lead: watch::Sender<bool>,
    /// The last failure that was a warning.
    complaint: Option<Refusal>,
}

impl Campaign {
    async fn run(mut self, mut ended: oneshot::Receiver<()>) {
        tokio::select! {
            () = self.stand() => {}
            // A dropped Election ends as well.
            _ = &mut ended => {}
        }
        if self.lead.send_replace(false) {
            info!(lease = %self.holding, "this controller leads no more: it ends");
            self.leave().await;
        }
    }

    /// Gives the Lease back, so that the next one need not wait until it is no longer valid.
    async fn leave(&mut self) {
        let cause = match timeout(RETRY, self.give_back()).await {
            Ok(Ok(())) => return,
            Ok(Err(refusal)) => refusal,
            Err(_) => Refusal::silence(RETRY),
        };
        debug!(lease = %self.holding, %cause, "the lease was not given back");
    }

    async fn give_back(&mut self) -> Result<(), Refusal> {
        match self.holding.release().await {
            Err(Refusal::Conflict) => {
                self.holding.look().await?;
                self.holding.release().await
            }
            other => other,
        }
    }

    /// Waits for the Lease, leads as long as it can be renewed, and begins anew.
    async fn stand(&mut self) {
        loop {
            let renewed = self.acquire().await;
            info!(lease = %self.holding, "this controller leads");
            self.lead.send_replace(true);
            self.keep(renewed).await;
            self.lead.send_replace(false);
            warn!(lease = %self.holding, "this controller leads no more: the lease was not renewed in time");
        }
    }

    /// Tries until the Lease is ours; gives the time before the request that got it.
    async fn acquire(&mut self) -> Instant {
        loop {
            let start = Instant::now();
            match timeout(DEADLINE, self.holding.acquire_or_renew()).await {
                Ok(Ok(true)) => return start,
                Ok(Ok(false)) => self.complaint = None,
                Ok(Err(refusal)) => self.complain(refusal),
                Err(_) => self.complain(Refusal::silence(DEADLINE)),
            }
            sleep(RETRY.mul_f32(1.0 + fastrand::f32())).await;
        }
    }

    /// Renews until another one has the Lease, or the last renewal is too long ago.
    async fn keep(&mut self, mut renewed: Instant) {
        let mut next = renewed + RETRY;
        loop {
            sleep_until(next.min(renewed + DEADLINE)).await;
            let start = Instant::now();
            next = start + RETRY;
            match timeout_at(renewed + DEADLINE, self.holding.acquire_or_renew()).await {
                Ok(Ok(true)) => renewed = start,
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(refusal)) => self.complain(refusal),
            }
        }
    }

    /// A failure is a warning once, until another one follows or it is over.
    fn complain(&mut self, refusal: Refusal) {
        if self.complaint.as_ref() != Some(&refusal) {
            warn!(lease = %self.holding, %refusal, "the lease cannot be had; it is tried again");
            self.complaint = Some(refusal);
        }
    }
}
