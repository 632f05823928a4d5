//! What is answered; its JSON form is what programs read, so its fields keep their names.

use portcullis_model::{Listener, Origin, Rule};
use portcullis_proxy::{Reason, grpc_answer};
use portcullis_routing::Matched;
use serde::Serialize;

use super::candidates::{Candidate, MatchView};
use super::question::Question;
use super::scheme_name;

/// What becomes of a request, and why. Fields that do not apply are absent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    /// Where the gateway answers itself: with this status. A rejected connection has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// Where the answer is a gRPC trailers-only answer: its grpc-status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grpc_status: Option<u8>,
    /// The reason code that access log and metrics have, where the gateway answers itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
    /// The reason, to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Where a redirect leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<String>,
    pub(crate) request: Asked,
    /// The address and port whose listeners were asked, before any port offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<Tls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gateway: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) listener: Option<ListenerView>,
    /// What runs on the request before a rule is looked for, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) listener_filters: Vec<FilterView>,
    /// The port's other listeners that take the host, and why they lost.
    pub(crate) rival_listeners: Vec<Rival>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) route: Option<Object>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<RuleView>,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub(crate) matched: Option<MatchView>,
    pub(crate) filters: Vec<FilterView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeouts: Option<TimeoutsView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<RetryView>,
    pub(crate) backends: Vec<BackendView>,
    /// Every other rule under a hostname that takes the host, in the order of precedence.
    pub(crate) candidates: Vec<Candidate>,
    /// Where nothing takes the request: what nearly does, the nearest first.
    pub(crate) nearest: Vec<String>,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// It is sent to a backend.
    Forward,
    /// It is answered with a redirect.
    Redirect,
    /// The rule that takes it makes the gateway answer itself.
    Respond,
    /// No rule takes it: the gateway answers with an error, or ends the connection before an answer.
    Reject,
}

/// The request in canonical form.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) scheme: &'static str,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<String>,
}

/// A Kubernetes object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Object {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What happens in the TLS handshake.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tls {
    /// Absent where the client connects to an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_name: Option<String>,
    /// The listener that the server name chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) listener: Option<ListenerView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<CertificateView>,
}

/// The certificate that a client meets which verifies every kind of key.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CertificateView {
    pub(crate) object: Object,
    pub(crate) names: Vec<String>,
    /// RFC 3339; the earliest end in the chain.
    pub(crate) not_after: String,
    /// Whether one of the names is the server name.
    pub(crate) names_server: bool,
}

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListenerView {
    pub(crate) name: String,
    /// The Gateway or ListenerSet that defines it.
    pub(crate) owner: Object,
    pub(crate) port: u16,
    pub(crate) protocol: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hostname: Option<String>,
}

/// A listener that takes the host too.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rival {
    pub(crate) listener: ListenerView,
    pub(crate) lost: String,
}

/// A rule of the route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RuleView {
    /// Its place in `spec.rules`, from 0.
    pub(crate) index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

/// A filter and what it does to this request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type")]
pub(crate) enum FilterView {
    RequestHeaderModifier(HeadersView),
    ResponseHeaderModifier(HeadersView),
    RequestRedirect {
        location: String,
        status: u16,
    },
    #[serde(rename = "URLRewrite")]
    UrlRewrite {
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<Change>,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<Change>,
    },
    RequestMirror {
        object: Object,
        #[serde(skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// Of the requests, in percent.
        share: f64,
    },
    ExternalAuth {
        object: Object,
        #[serde(skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// The path that is asked for, without the query; absent where gRPC asks.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    #[serde(rename = "CORS")]
    Cors(CorsView),
}

/// What browsers are told about requests of other origins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CorsView {
    pub(crate) allow_origins: Vec<String>,
    pub(crate) allow_credentials: bool,
    pub(crate) allow_methods: Vec<String>,
    pub(crate) allow_headers: Vec<String>,
    pub(crate) expose_headers: Vec<String>,
    /// In seconds.
    pub(crate) max_age: u32,
    /// Whether the request's own origin may; absent where it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin_allowed: Option<bool>,
}

/// A value before and after a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    pub(crate) before: String,
    pub(crate) after: String,
}

/// What happens to headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HeadersView {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) set: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) add: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) remove: Vec<String>,
}

/// How long it may take, in Gateway API durations.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimeoutsView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backend_request: Option<String>,
}

/// What is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RetryView {
    /// After the first, at most.
    pub(crate) attempts: u32,
    /// Beside connections that cannot be made and requests that the backend refuses to process.
    pub(crate) codes: Vec<u16>,
    /// The base of the pauses, in a Gateway API duration.
    pub(crate) backoff: String,
}

/// A backend and its share.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackendView {
    pub(crate) object: Object,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<u16>,
    pub(crate) weight: u32,
    /// Of the requests, in percent.
    pub(crate) share: f64,
    pub(crate) filters: Vec<FilterView>,
    /// The Host and path that it sees.
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) endpoints: Vec<EndpointView>,
    /// Where its share is answered by the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// An instance of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndpointView {
    pub(crate) address: String,
    /// `ready` or `draining`.
    pub(crate) state: &'static str,
    /// Whether it takes requests now.
    pub(crate) used: bool,
    /// What those that do have in common with the proxy, where that is why this one does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nearer: Option<Nearer>,
    /// For how many more seconds a running proxy shuts it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ejected_for_seconds: Option<u64>,
    /// Whether a running proxy gives it no more than a part of its share yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) slow_start: bool,
}

/// What makes endpoints nearer than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Nearer {
    /// They are meant for the proxy's node.
    Node,
    /// They are meant for its zone.
    Zone,
}

/// Why no rule takes a request.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    status: Option<u16>,
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Refused {
    /// The gateway answers with this status.
    pub(super) fn with(status: u16, reason: Reason, message: String) -> Refused {
        Refused { status: Some(status), reason, message }
    }

    /// The connection ends without an answer.
    pub(super) fn unanswered(reason: Reason, message: String) -> Refused {
        Refused { status: None, reason, message }
    }

    /// Whether another host, port or path might be meant.
    pub(super) fn may_be_a_slip(&self) -> bool {
        !matches!(
            self.reason,
            Reason::BadRequest | Reason::Misdirected | Reason::NoCertificate | Reason::FilterUnresolved
        )
    }
}

impl Answer {
    pub(super) fn to(question: &Question) -> Answer {
        Answer {
            outcome: Outcome::Reject,
            status: None,
            grpc_status: None,
            reason: None,
            message: None,
            location: None,
            request: Asked {
                method: question.method.clone(),
                scheme: scheme_name(question.scheme),
                host: question.host().map_or_else(|_| question.server.clone(), std::borrow::Cow::into_owned),
                port: question.port,
                path: question.path.clone(),
                query: question.query.clone(),
            },
            address: None,
            tls: None,
            gateway: None,
            listener: None,
            listener_filters: Vec::new(),
            rival_listeners: Vec::new(),
            route: None,
            rule: None,
            matched: None,
            filters: Vec::new(),
            timeouts: None,
            retry: None,
            backends: Vec::new(),
            candidates: Vec::new(),
            nearest: Vec::new(),
        }
    }

    /// The endpoints of each backend, with its object and port.
    pub(super) fn endpoints(&mut self) -> impl Iterator<Item = (&Object, Option<u16>, &mut [EndpointView])> {
        self.backends.iter_mut().map(|one| (&one.object, one.port, &mut *one.endpoints))
    }

    pub(super) fn refuse(&mut self, refused: Refused, grpc: bool) {
        self.outcome = Outcome::Reject;
        self.reason = Some(refused.reason.as_str());
        self.message = Some(refused.message);
        self.status = refused.status;
        if grpc {
            self.tell_in_grpc();
        }
    }

    /// An error that the gateway answers a gRPC call with itself is a trailers-only answer.
    pub(super) fn tell_in_grpc(&mut self) {
        if let Some(status) = self.status.filter(|status| *status >= 400) {
            let (status, grpc_status) = grpc_answer(status);
            (self.status, self.grpc_status) = (Some(status), Some(grpc_status));
        }
    }

    pub(super) fn meet_listener(&mut self, listener: &Listener) {
        self.gateway = Some(Object::of(&listener.id.gateway));
        self.listener = Some(ListenerView::of(listener));
    }

    pub(super) fn meet_rule(&mut self, matched: &Matched<'_, ()>) {
        let rule = matched.entry().rule();
        self.route = Some(Object::of(&rule.id.route));
        self.rule = Some(RuleView::of(rule));
        self.matched = MatchView::of(rule, matched.match_index(), matched.hostname());
    }
}

impl Object {
    pub(super) fn of(origin: &Origin) -> Object {
        Object {
            kind: origin.kind.as_ref().to_owned(),
            namespace: origin.namespace.as_ref().to_owned(),
            name: origin.name.as_ref().to_owned(),
        }
    }
}

impl RuleView {
    pub(super) fn of(rule: &Rule) -> RuleView {
        RuleView { index: rule.id.index, name: rule.id.name.as_deref().map(str::to_owned) }
    }
}

impl ListenerView {
    pub(super) fn of(listener: &Listener) -> ListenerView {
        let hostname = listener.hostname.to_string();
        ListenerView {
            name: listener.id.name.as_ref().to_owned(),
            owner: Object::of(&listener.id.owner),
            port: listener.port,
            protocol: listener.protocol.as_str(),
            hostname: (hostname != "*").then_some(hostname),
        }
    }
}
