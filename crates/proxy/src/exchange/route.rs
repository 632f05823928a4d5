//! Which rule takes a request.

use std::borrow::Cow;
use std::sync::Arc;

use portcullis_http1::{Known, Method, RequestHead, TargetForm};
use portcullis_model::ClientMode;
use portcullis_routing::{
    Authority, Entry, HeaderSource, Matched, Preflight, Request, Scheme, canonical_path,
};

use super::Surroundings;
use crate::error::{ProxyError, Stage};
use crate::reason::Reason;
use crate::tables::rule::CompiledAction;
use crate::tables::{CompiledRule, Listener, ServedPort};
use crate::telemetry::Record;

/// The rule that takes a request.
pub(super) struct Routed<'s> {
    pub(super) entry: &'s Arc<Entry<CompiledRule>>,
    /// How much of the path the rule's prefix took.
    pub(super) prefix_len: Option<usize>,
    /// The rule is that of the request which this one, a CORS preflight request, announces; its filter answers.
    pub(super) preflight: bool,
}

/// A request's fields, as matching asks for them.
struct Headers<'h>(&'h RequestHead);

impl HeaderSource for Headers<'_> {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0.fields.get_all(name.as_bytes())
    }
}

/// Finds the rule, and gives the path its canonical form.
pub(super) fn route<'s>(
    around: &Surroundings<'s>,
    head: &mut RequestHead,
    record: &mut Record,
) -> Result<Routed<'s>, ProxyError> {
    let (routed, changed) = lookup(around, head, record)?;
    if logged(around, record) {
        record.rule = Some(Arc::clone(routed.entry));
    }
    if let Some(path) = changed {
        head.set_path(path.as_bytes());
    }
    Ok(routed)
}

/// The listener that takes a request, whose path is given its canonical form.
pub(super) fn enter<'s>(
    around: &Surroundings<'s>,
    head: &mut RequestHead,
    record: &mut Record,
) -> Result<&'s portcullis_model::Listener, ProxyError> {
    let Entrance { listener, path, .. } = Entrance::find(around, head, record)?;
    if let Some(path) = changed(path) {
        head.set_path(path.as_bytes());
    }
    Ok(listener.listener())
}

/// What a request asks for in canonical form, and who takes it.
struct Entrance<'s, 'h> {
    authority: Authority<'h>,
    path: Cow<'h, str>,
    listener: &'s Arc<Listener>,
}

impl<'s, 'h> Entrance<'s, 'h> {
    fn find(
        around: &Surroundings<'s>,
        head: &'h RequestHead,
        record: &mut Record,
    ) -> Result<Entrance<'s, 'h>, ProxyError> {
        if head.form() == TargetForm::Authority {
            return Err(ProxyError::downstream(Stage::ReceiveHead, Reason::Unsupported)); // CONNECT
        }
        let served = around.served.ok_or(ProxyError::configuration(Reason::NoListener))?;
        let authority = Authority::parse(text(head.authority().unwrap_or_default())?).map_err(|_| BAD)?;
        let path = canonical_path(text(head.path())?).map_err(|_| BAD)?;
        let listener = listener(around, served, &authority.host)?;
        if logged(around, record) {
            record.listener = Some(Arc::clone(listener.listener()));
        }
        Ok(Entrance { authority, path, listener })
    }
}

const BAD: ProxyError = ProxyError::downstream(Stage::ReceiveHead, Reason::BadRequest);

fn text(bytes: &[u8]) -> Result<&str, ProxyError> {
    std::str::from_utf8(bytes).map_err(|_| BAD)
}

/// The canonical path, if it is not the one received.
fn changed(path: Cow<'_, str>) -> Option<String> {
    match path {
        Cow::Owned(path) => Some(path),
        Cow::Borrowed(_) => None,
    }
}

/// The rule, and the canonical path if it is not the one received.
fn lookup<'s>(
    around: &Surroundings<'s>,
    head: &RequestHead,
    record: &mut Record,
) -> Result<(Routed<'s>, Option<String>), ProxyError> {
    let Entrance { authority, path, listener } = Entrance::find(around, head, record)?;
    let headers = Headers(head);
    let query = text(head.query().unwrap_or_default())?;
    let request = || Ok(Request::new(&authority.host, &path, query, text(head.method_name())?, &headers));
    let announced = match announced(head, &headers) {
        Some(preflight) => listener.lookup(&request()?.announced(preflight)).filter(answers_preflight),
        None => None,
    };
    let preflight = announced.is_some();
    let matched = match announced {
        Some(matched) => matched,
        None => listener.lookup(&request()?).ok_or(ProxyError::configuration(Reason::NoRule))?,
    };
    let routed = Routed { entry: matched.entry(), prefix_len: matched.prefix_len(), preflight };
    Ok((routed, changed(path)))
}

/// What a CORS preflight request announces. Other requests cost a test of bits.
fn announced<'h>(head: &RequestHead, headers: &'h Headers<'_>) -> Option<Preflight<'h>> {
    let may_be = head.method() == Method::Options && head.fields.has(Known::AccessControlRequestMethod);
    may_be.then(|| Preflight::of("OPTIONS", headers)).flatten()
}

/// Whether a rule answers preflight requests: it has the filter, and no fault for which it answers with an error.
fn answers_preflight(matched: &Matched<'_, CompiledRule>) -> bool {
    let rule = matched.entry().compiled();
    rule.treatment.filters.cors().is_some() && !matches!(rule.action, CompiledAction::Fail(_))
}

fn logged(around: &Surroundings<'_>, record: &Record) -> bool {
    around.worker.shared.access_log.is_some() || record.explain
}

/// The listener that takes the host. Over TLS it must be the one that the server name chose.
fn listener<'s>(
    around: &Surroundings<'_>,
    served: &'s ServedPort,
    host: &str,
) -> Result<&'s Arc<Listener>, ProxyError> {
    let found = match &around.client.tls_listener {
        Some(connection) => {
            let misdirected = ProxyError::configuration(Reason::Misdirected);
            let found = served.table.listener_on_connection(connection, host).map_err(|_| misdirected)?;
            if found.is_some_and(|found| demands_certificate(found.listener()))
                && around.client.admission.is_none()
            {
                return Err(misdirected); // the connection is older than the demand
            }
            found
        }
        None => served.table.listener_for_host(Scheme::Http, host),
    };
    found.ok_or(ProxyError::configuration(Reason::NoListener))
}

/// Whether nobody gets in at a listener without a certificate.
fn demands_certificate(listener: &portcullis_model::Listener) -> bool {
    let clients = listener.protocol.tls().and_then(|server| server.clients.as_ref());
    clients.is_some_and(|clients| clients.mode == ClientMode::AllowValidOnly)
}
