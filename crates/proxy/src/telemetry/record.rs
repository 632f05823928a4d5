//! What is known of a request when it ends: the one source of its metrics, its log line and its debug header.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use portcullis_http1::{RequestHead, Version};
use portcullis_model::Listener;
use portcullis_routing::Entry;

use super::WorkerMetrics;
use crate::reason::Reason;
use crate::tables::CompiledRule;
use crate::upstream::LocalTarget;

/// A request under way.
pub(crate) struct Record {
    pub(crate) started: Instant,
    pub(crate) client: SocketAddr,
    pub(crate) version: Version,
    pub(crate) request_id: Vec<u8>,
    /// Method, authority and path as received; kept only if requests are logged.
    pub(crate) summary: Option<Summary>,
    pub(crate) listener: Option<Arc<Listener>>,
    pub(crate) rule: Option<Arc<Entry<CompiledRule>>>,
    pub(crate) endpoint: Option<Rc<LocalTarget>>,
    pub(crate) attempts: u32,
    /// 0 until an answer has begun.
    pub(crate) status: u16,
    pub(crate) reason: Reason,
    /// Bytes of the request's body.
    pub(crate) received: u64,
    /// Bytes of the answer's body.
    pub(crate) sent: u64,
    /// The client, which is trusted, asked how its request was handled.
    pub(crate) explain: bool,
}

/// What a log line says of a request's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) method: String,
    pub(crate) authority: String,
    pub(crate) path: String,
    pub(crate) user_agent: String,
}

impl Summary {
    pub(crate) fn of(head: &RequestHead) -> Summary {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut path = text(head.path());
        if let Some(query) = head.query() {
            path.push('?');
            path.push_str(&String::from_utf8_lossy(query));
        }
        Summary {
            method: text(head.method_name()),
            authority: text(head.authority().unwrap_or_default()),
            path,
            user_agent: text(head.fields.get(b"user-agent").unwrap_or_default()),
        }
    }
}

impl Record {
    pub(crate) fn new(client: SocketAddr, version: Version) -> Record {
        Record {
            started: Instant::now(),
            client,
            version,
            request_id: Vec::new(),
            summary: None,
            listener: None,
            rule: None,
            endpoint: None,
            attempts: 0,
            status: 0,
            reason: Reason::Ok,
            received: 0,
            sent: 0,
            explain: false,
        }
    }

    /// Counts the request.
    pub(crate) fn count(&self, metrics: &WorkerMetrics) {
        metrics.request(self.status, self.version, self.reason, self.started.elapsed());
        metrics.bytes_received.add(self.received);
        metrics.bytes_sent.add(self.sent);
    }

    pub(crate) fn listener(&self) -> String {
        self.listener.as_ref().map_or_else(|| "-".into(), |listener| listener.id.to_string())
    }

    pub(crate) fn route(&self) -> String {
        self.rule.as_ref().map_or_else(|| "-".into(), |entry| entry.route().origin.to_string())
    }

    pub(crate) fn rule(&self) -> Option<usize> {
        self.rule.as_ref().map(|entry| entry.rule().id.index)
    }

    pub(crate) fn endpoint(&self) -> &str {
        self.endpoint.as_ref().map_or("-", |endpoint| &endpoint.target.label)
    }

    /// How the request was handled, as the debug header says it.
    pub(crate) fn explanation(&self) -> String {
        let rule = self.rule().map_or_else(|| "-".to_owned(), |rule| rule.to_string());
        let id = String::from_utf8_lossy(&self.request_id);
        let (endpoint, attempts, reason) = (self.endpoint(), self.attempts, self.reason.as_str());
        format!(
            "listener={}; route={}; rule={rule}; endpoint={endpoint}; attempts={attempts}; reason={reason}; \
             request_id={id}",
            self.listener(),
            self.route(),
        )
    }
}
