//! Who asks: the fields in which the proxy says so, and in which a client is believed only if it is trusted.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use portcullis_http1::{Known, KnownSet, RequestHead};
use portcullis_model::Listener;
use portcullis_routing::Scheme;

use super::Surroundings;
use crate::telemetry::{Record, RequestId};
use crate::tls::Admission;

/// The client of a connection.
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    /// Its IP address, as `X-Forwarded-For` has it.
    pub(crate) ip: String,
    /// What it says of others is believed.
    pub(crate) trusted: bool,
    pub(crate) scheme: Scheme,
    /// The listener that the server name of its TLS handshake chose.
    pub(crate) tls_listener: Option<Arc<Listener>>,
    /// How it got in, if that listener is guarded.
    pub(crate) admission: Option<Rc<Admission>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, trusted: bool) -> Client {
        let ip = address.ip().to_canonical().to_string();
        Client { address, ip, trusted, scheme: Scheme::Http, tls_listener: None, admission: None }
    }

    /// The same client at another address.
    pub(crate) fn at(&self, address: SocketAddr, trusted: bool) -> Client {
        let (listener, admission) = (self.tls_listener.clone(), self.admission.clone());
        Client { scheme: self.scheme, tls_listener: listener, admission, ..Client::new(address, trusted) }
    }

    /// Whether the client would get in no more, so that its connection is to end.
    pub(crate) fn is_leaving(&self) -> bool {
        self.admission.as_ref().is_some_and(|admission| admission.is_leaving())
    }

    fn proto(&self) -> &'static [u8] {
        match self.scheme {
            Scheme::Http => b"http",
            Scheme::Https => b"https",
        }
    }
}

/// Fields that only a trusted client may set.
const ASSERTIONS: [Known; 3] = [Known::XForwardedClientCert, Known::Forwarded, Known::XForwardedPort];

/// All fields that the proxy sets or checks: none of them may come under a name that backends take for the same.
const SETTLED: KnownSet = KnownSet::of(&[
    Known::Forwarded,
    Known::XForwardedClientCert,
    Known::XForwardedFor,
    Known::XForwardedHost,
    Known::XForwardedPort,
    Known::XForwardedProto,
    Known::XRequestId,
]);

/// Drops what belongs to the client's connection, and sets `X-Forwarded-For`, `-Proto`, `-Host`, `x-request-id` and, for
/// a client whose certificate was verified, `x-forwarded-client-cert`.
pub(super) fn settle(around: &Surroundings<'_>, head: &mut RequestHead, record: &mut Record) {
    let client = around.client;
    head.strip_hop_by_hop();
    head.fields.remove_aliases(SETTLED);
    let debug = around.worker.shared.options.debug_header.as_ref();
    if let Some(name) = debug {
        record.explain = head.fields.remove(name.as_str().as_bytes()) && client.trusted;
    }
    if client.trusted {
        append(head, Known::XForwardedFor, client.ip.as_bytes());
    } else {
        for known in ASSERTIONS {
            head.fields.remove_known(known);
        }
        replace(head, Known::XForwardedFor, client.ip.as_bytes());
    }
    if let Some(certificate) = client.admission.as_ref().and_then(|admission| admission.forwarded()) {
        append(head, Known::XForwardedClientCert, certificate);
    }
    if !(client.trusted && head.fields.has(Known::XForwardedProto)) {
        replace(head, Known::XForwardedProto, client.proto());
    }
    if !(client.trusted && head.fields.has(Known::XForwardedHost)) {
        let authority = head.authority().unwrap_or_default().to_vec();
        replace(head, Known::XForwardedHost, &authority);
    }
    request_id(around, head, record);
}

fn replace(head: &mut RequestHead, known: Known, value: &[u8]) {
    head.fields.remove_known(known);
    if !value.is_empty() {
        head.fields.push_known(known, value);
    }
}

/// Adds an element to a list that grows with every proxy.
fn append(head: &mut RequestHead, known: Known, element: &[u8]) {
    let mut list: Vec<u8> = Vec::new();
    for value in head.fields.known_values(known) {
        list.extend_from_slice(value);
        list.extend_from_slice(b", ");
    }
    list.extend_from_slice(element);
    replace(head, known, &list);
}

fn request_id(around: &Surroundings<'_>, head: &mut RequestHead, record: &mut Record) {
    if let Some(given) = head.fields.known_value(Known::XRequestId).filter(|_| around.client.trusted) {
        record.request_id = given.to_vec();
        return;
    }
    let id = RequestId::new(around.worker.random(), around.worker.random());
    replace(head, Known::XRequestId, id.as_bytes());
    if record.summary.is_some() || record.explain {
        record.request_id = id.as_bytes().to_vec();
    }
}
