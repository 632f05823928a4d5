//! [`StatusWriter`]: brings the statuses in the cluster to what we want them to be, and then leaves them alone.
//!
//! It knows of each object what the API server holds ([`Seen`]) and what we want, and writes where they differ: one
//! write in flight an object, the newest wish wins, a bounded number at once, against the `resourceVersion` that
//! was merged with. Only the leader writes; the others keep up, so that who takes over starts at once.

mod counts;
mod desk;
mod entry;
mod flight;
pub(crate) mod pace;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::Client;
use portcullis_api::ObjectKey;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::Seen;
pub use counts::WriteCounts;
use desk::Desk;

/// The name under which we write, for `metadata.managedFields`.
pub const FIELD_MANAGER: &str = "portcullis";

/// Hands over what is seen and wanted; the writing ends when this is dropped.
#[derive(Debug)]
pub struct StatusWriter {
    news: mpsc::UnboundedSender<News>,
    counts: watch::Receiver<WriteCounts>,
}

/// What a writer is told.
#[derive(Debug)]
enum News {
    Seen(Vec<Seen>),
    Wanted(Vec<(ObjectKey, Option<Arc<Value>>)>),
}

impl StatusWriter {
    /// Starts writing, on the current runtime, whenever `leading` is true.
    ///
    /// `controllers` are the `controllerName`s whose entries in `parents` and `ancestors` are ours.
    #[must_use]
    pub fn start(client: Client, controllers: Vec<Arc<str>>, leading: watch::Receiver<bool>) -> StatusWriter {
        let (news, inbox) = mpsc::unbounded_channel();
        let (count, counts) = watch::channel(WriteCounts::default());
        tokio::spawn(Desk::new(client, controllers, leading, count).run(inbox));
        StatusWriter { news, counts }
    }

    /// Takes what the API server holds now, in order.
    pub fn seen(&self, seen: Vec<Seen>) {
        self.tell(News::Seen(seen));
    }

    /// Takes the statuses that we want, without `lastTransitionTime`s; none: nothing of ours shall stand there.
    ///
    /// Nothing is done about an object before this has named it once.
    pub fn want(&self, statuses: Vec<(ObjectKey, Option<Arc<Value>>)>) {
        self.tell(News::Wanted(statuses));
    }

    /// What was written so far, and how much is under way; changes with every write.
    #[must_use]
    pub fn counts(&self) -> watch::Receiver<WriteCounts> {
        self.counts.clone()
    }

    fn tell(&self, news: News) {
        // The other end lives as long as the runtime, and without that there is nobody to write for.
        let _ = self.news.send(news);
    }
}
