//! An answer as a person reads it.

use super::answer::{Answer, BackendView, TlsMode};
use crate::explain::answer::Outcome;
use crate::explain::text::{Page, object, tls, use_of};
use crate::render::Paint;

/// An answer in lines of text.
pub(in crate::explain) fn text(answer: &Answer, paint: Paint) -> String {
    let mut page = Page::new(paint);
    let asked = &answer.connection;
    page.line(&paint.strong(format!("{}://{}:{}", asked.scheme, asked.host, asked.port)).to_string());
    let message = answer.message.as_deref().unwrap_or_default();
    let said = match (answer.outcome, answer.reason) {
        (Outcome::Forward, _) => paint.good(passed(answer)),
        (_, Some(reason)) => paint.error(format!("nothing is passed on ({reason}): {message}")),
        (_, None) => paint.warning(message.to_owned()),
    };
    page.row("answer", &said.to_string());
    if let Some(handshake) = &answer.tls {
        tls(handshake, &mut page);
    }
    page.listener(answer.listener.as_ref(), answer.gateway.as_ref(), &answer.rival_listeners);
    answer.route.iter().for_each(|route| page.row("route", &object(route)));
    page.list("backends", answer.backends.iter().flat_map(backend));
    let losers = answer.losers.iter().map(|loser| format!("{}: {}", object(&loser.route), loser.detail));
    page.list("not taken", losers);
    page.text
}

fn passed(answer: &Answer) -> String {
    match (answer.connection.scheme, answer.tls_mode) {
        ("udp", _) => "passed on to an endpoint, and with it all that this client says next".to_owned(),
        (_, Some(TlsMode::Terminate)) => {
            "TLS is ended, and what is inside passed on to an endpoint".to_owned()
        }
        _ => "passed on to an endpoint as it is".to_owned(),
    }
}

fn backend(backend: &BackendView) -> Vec<String> {
    let port = backend.port.map(|port| format!(":{port}")).unwrap_or_default();
    let share = (backend.share * 10.0).round() / 10.0;
    let mut lines = vec![format!("{share}% {}{port}", object(&backend.object))];
    let endpoints = backend.endpoints.iter();
    lines.extend(endpoints.map(|one| format!("  {} {}{}", one.address, one.state, use_of(one))));
    if let (Some(reason), Some(message)) = (backend.reason, &backend.message) {
        lines.push(format!("  nothing ({reason}): {message}"));
    }
    lines
}
