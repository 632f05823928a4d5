//! Which listener, route and endpoints a connection or a datagram meets that carries no request.
//!
//! As for requests, the proxy's own tables decide.

mod answer;
mod question;
#[cfg(test)]
mod tests;
mod text;

use std::net::SocketAddr;
use std::sync::Arc;

use portcullis_model::{
    Failure, HostPattern, L4Route, Listener, ListenerProtocol, Locality, Model, Port, Target, WeightedBackend,
};
use portcullis_proxy::Reason;
use portcullis_routing::{L4Table, PortTable};

use super::action::endpoint_views;
use super::answer::{ListenerView, Object, Outcome, Refused, Rival, Tls};
use super::entrance::{binds, certificate};
use answer::{Answer, BackendView, Loser, TlsMode};
pub(super) use question::Question;
use question::Scheme;
pub(super) use text::text;

/// What becomes of a connection or datagram, and why.
pub(super) fn explain(model: &Model, question: &Question) -> Answer {
    let mut answer = Answer::to(question);
    if let Err(refused) = follow(model, question, &mut answer) {
        answer.refuse(&refused);
    }
    answer
}

fn follow(model: &Model, question: &Question, answer: &mut Answer) -> Result<(), Refused> {
    let (address, port) = entrance(model, question)?;
    answer.address = Some(address.to_string());
    let listener = listener(port, question, answer)?;
    answer.meet_listener(listener);
    if matches!(listener.protocol, ListenerProtocol::Https(_) | ListenerProtocol::Http3(_)) {
        let (name, number) = (&question.host, question.port);
        answer.outcome = Outcome::Respond;
        answer.message =
            Some(format!("the listener takes requests: ask about one, https://{name}:{number}/"));
        return Ok(());
    }
    let server_name = question.server_name();
    if question.scheme == Scheme::Tls {
        handshake(listener, server_name, answer)?;
    }
    let table = L4Table::build(listener.protocol.l4_routes(), None, |_| ());
    // Where no server name is read, every route is for any host.
    let asked = server_name.filter(|_| !takes_everything(listener));
    let route = table.lookup(asked).map(|entry| &entry.route);
    answer.losers = table
        .routes()
        .filter(|other| route.is_none_or(|route| !Arc::ptr_eq(route, other)))
        .map(|other| Loser {
            route: Object::of(&other.origin),
            detail: why_not(other, route.map(|it| &**it), asked),
        })
        .collect();
    let route = route.ok_or_else(|| no_route(listener))?;
    answer.route = Some(Object::of(&route.origin));
    answer.outcome = Outcome::Forward;
    note_backends(model, route, &question.locality, answer)
}

/// The port by number and transport, and by address where the URL has one: the first, or the first that takes the name.
fn entrance<'m>(model: &'m Model, question: &Question) -> Result<(SocketAddr, &'m Port), Refused> {
    let reached = model.ports.iter().filter(|(bind, _)| {
        Some(bind.port) == question.listener_port()
            && bind.transport == question.scheme.transport()
            && question.server_address().is_none_or(|ip| binds(bind.ip, ip))
    });
    let mut reached = reached.map(|(bind, port)| (SocketAddr::new(bind.ip, bind.port), &**port));
    let takes = |(_, port): &(SocketAddr, &Port)| found(port, question).is_some();
    let first = reached.next().ok_or_else(|| {
        let what = question.scheme.transport_name();
        let message = format!("no listener is bound to {what} port {}", question.port);
        Refused::unanswered(Reason::NoListener, message)
    })?;
    if takes(&first) { Ok(first) } else { Ok(reached.find(takes).unwrap_or(first)) }
}

/// The listener that takes a connection or datagram.
fn found<'p>(port: &'p Port, question: &Question) -> Option<&'p Arc<Listener>> {
    if let Some(everything) = port.listeners.iter().find(|listener| takes_everything(listener)) {
        return Some(everything);
    }
    if question.scheme != Scheme::Tls {
        return None;
    }
    let table = PortTable::build(port, |_, _, _| ());
    let id = &table.listener_for_sni(question.server_name())?.listener().id;
    port.listeners.iter().find(|listener| listener.id == *id)
}

/// Whether a listener passes on whatever comes.
fn takes_everything(listener: &Listener) -> bool {
    matches!(listener.protocol, ListenerProtocol::Tcp(_) | ListenerProtocol::Udp(_))
}

fn listener<'p>(
    port: &'p Port,
    question: &Question,
    answer: &mut Answer,
) -> Result<&'p Arc<Listener>, Refused> {
    let found = found(port, question);
    let name = question.server_name();
    let rivals = port.listeners.iter().filter(|rival| {
        let takes =
            name.is_some_and(|name| rival.hostname.matches(name)) || rival.hostname == HostPattern::Any;
        let speaks_tls = !matches!(rival.protocol, ListenerProtocol::Http);
        takes && speaks_tls && found.is_some_and(|found| found.id != rival.id)
    });
    answer.rival_listeners = rivals
        .map(|rival| {
            let winner = found.map(|found| found.hostname.to_string()).unwrap_or_default();
            let lost = format!("{} is less specific than {winner}", rival.hostname);
            Rival { listener: ListenerView::of(rival), lost }
        })
        .collect();
    found.ok_or_else(|| match (question.scheme, name) {
        (Scheme::Tls, Some(name)) => {
            let message = format!("no listener takes the server name {name}: the connection is closed");
            Refused::unanswered(Reason::UnknownServerName, message)
        }
        (Scheme::Tls, None) => {
            let message = "without a server name only a listener without a hostname takes a connection";
            Refused::unanswered(Reason::UnknownServerName, message.to_owned())
        }
        (scheme, _) => {
            let spoken: Vec<&str> = port.listeners.iter().map(|one| one.protocol.as_str()).collect();
            let (spoken, asked) = (spoken.join(", "), scheme.transport_name());
            let message = format!("port {} speaks {spoken}, and is no {asked} listener's", question.port);
            Refused::unanswered(Reason::NoListener, message)
        }
    })
}

/// What a listener does with TLS.
fn handshake(listener: &Listener, server_name: Option<&str>, answer: &mut Answer) -> Result<(), Refused> {
    answer.tls_mode = Some(match &listener.protocol {
        ListenerProtocol::TlsTerminate(..) => TlsMode::Terminate,
        _ => TlsMode::Passthrough,
    });
    let tls = answer.tls.insert(Tls {
        server_name: server_name.map(str::to_owned),
        listener: Some(ListenerView::of(listener)),
        certificate: certificate(listener, server_name),
    });
    if answer.tls_mode == Some(TlsMode::Terminate) && tls.certificate.is_none() {
        let message = format!("listener {} has no usable certificate: the handshake fails", listener.id);
        return Err(Refused::unanswered(Reason::NoCertificate, message));
    }
    Ok(())
}

fn no_route(listener: &Listener) -> Refused {
    let message = match listener.protocol.l4_routes().len() {
        0 => format!("no route is attached to listener {}", listener.id),
        _ => format!("no route of listener {} has a hostname that takes the server name", listener.id),
    };
    Refused::unanswered(Reason::NoRule, message)
}

/// Why a route did not take a connection.
fn why_not(route: &L4Route, winner: Option<&L4Route>, server_name: Option<&str>) -> String {
    let best = |route: &L4Route| {
        let taking = route
            .hostnames
            .iter()
            .filter(|host| server_name.map_or(**host == HostPattern::Any, |name| host.matches(name)));
        taking.max_by_key(|host| host.rank()).cloned()
    };
    match (best(route), winner.and_then(best)) {
        (None, _) => "none of its hostnames takes the server name".to_owned(),
        (Some(own), Some(other)) if own != other => format!("{own} is less specific than {other}"),
        _ => "it is younger, or comes later by its name, and one route serves alone".to_owned(),
    }
}

/// Notes where a route leads.
fn note_backends(model: &Model, route: &L4Route, at: &Locality, answer: &mut Answer) -> Result<(), Refused> {
    let total: u64 = route.backends.iter().map(|backend| u64::from(backend.weight)).sum();
    answer.backends = route.backends.iter().map(|backend| view(model, backend, total, at)).collect();
    match (route.backends.len(), total) {
        (0, _) => Err(Refused::unanswered(Reason::NoBackends, "the route has no backends".to_owned())),
        (_, 0) => {
            let message = "no backend of the route has a weight above 0".to_owned();
            Err(Refused::unanswered(Reason::ZeroWeight, message))
        }
        _ => Ok(()),
    }
}

fn view(model: &Model, backend: &WeightedBackend, total: u64, at: &Locality) -> BackendView {
    let endpoints = match &backend.target {
        Target::Cluster(key) => model.endpoints.get(&key.endpoints).map(|all| endpoint_views(all, at)),
        Target::Fail(_) => None,
    };
    let endpoints = endpoints.unwrap_or_default();
    let (reason, message) = match &backend.target {
        Target::Fail(Failure { reason, message, .. }) => {
            (Some(reason.as_str()), Some(message.as_ref().to_owned()))
        }
        Target::Cluster(_) if !endpoints.iter().any(|endpoint| endpoint.used) => {
            (Some(Reason::NoEndpoint.as_str()), Some("it has no endpoint that takes connections".to_owned()))
        }
        Target::Cluster(_) => (None, None),
    };
    BackendView {
        object: Object::of(&backend.origin),
        port: backend.port,
        weight: backend.weight,
        share: f64::from(backend.weight) * 100.0 / (total.max(1) as f64),
        endpoints,
        reason,
        message,
    }
}
