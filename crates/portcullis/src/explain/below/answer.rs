//! What is answered; its JSON form is what programs read, so its fields keep their names.

use portcullis_model::Listener;
use serde::Serialize;

use super::Question;
use crate::explain::answer::{EndpointView, ListenerView, Object, Outcome, Refused, Rival, Tls};

/// What becomes of a connection or datagram, and why. Fields that do not apply are absent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::explain) struct Answer {
    pub(super) outcome: Outcome,
    /// The reason code that access log and metrics have, where nothing is passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
    /// The reason, to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    pub(super) connection: Asked,
    /// The address and port whose listeners were asked, before any port offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls_mode: Option<TlsMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls: Option<Tls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gateway: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) listener: Option<ListenerView>,
    /// The port's other listeners that take the server name, and why they lost.
    pub(super) rival_listeners: Vec<Rival>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) route: Option<Object>,
    pub(super) backends: Vec<BackendView>,
    /// The listener's other routes, the oldest first.
    #[serde(rename = "candidates")]
    pub(super) losers: Vec<Loser>,
}

/// The connection or datagram.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Asked {
    pub(super) scheme: &'static str,
    pub(super) host: String,
    pub(super) port: u16,
}

/// Who ends TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum TlsMode {
    /// The listener.
    Terminate,
    /// The backend.
    Passthrough,
}

/// A backend and its share.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BackendView {
    pub(super) object: Object,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) port: Option<u16>,
    pub(super) weight: u32,
    /// Of the connections or flows, in percent.
    pub(super) share: f64,
    pub(super) endpoints: Vec<EndpointView>,
    /// Where its share is closed or dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
}

/// A route that did not take it, and why.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Loser {
    pub(super) route: Object,
    pub(super) detail: String,
}

impl Answer {
    pub(super) fn to(question: &Question) -> Answer {
        Answer {
            outcome: Outcome::Reject,
            reason: None,
            message: None,
            connection: Asked {
                scheme: question.scheme.name(),
                host: question.host.clone(),
                port: question.port,
            },
            address: None,
            tls_mode: None,
            tls: None,
            gateway: None,
            listener: None,
            rival_listeners: Vec::new(),
            route: None,
            backends: Vec::new(),
            losers: Vec::new(),
        }
    }

    /// The endpoints of each backend, with its object and port.
    pub(in crate::explain) fn endpoints(
        &mut self,
    ) -> impl Iterator<Item = (&Object, Option<u16>, &mut [EndpointView])> {
        self.backends.iter_mut().map(|one| (&one.object, one.port, &mut *one.endpoints))
    }

    pub(super) fn refuse(&mut self, refused: &Refused) {
        self.outcome = Outcome::Reject;
        self.reason = Some(refused.reason.as_str());
        self.message = Some(refused.message.clone());
    }

    pub(super) fn meet_listener(&mut self, listener: &Listener) {
        self.gateway = Some(Object::of(&listener.id.gateway));
        self.listener = Some(ListenerView::of(listener));
    }
}
