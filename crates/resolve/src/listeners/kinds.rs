//! Which kinds of routes a listener takes.

use portcullis_api::listener::RouteGroupKind;
use portcullis_api::{FieldPath, Kind};

use super::claim::Protocol;
use crate::causes::LISTENER_ROUTE_KINDS;
use crate::engine::Capabilities;
use crate::finding::Finding;

/// The kinds that fit a protocol, as far as the engine serves them.
///
/// Source: `AllowedRoutes.kinds` field documentation.
fn fitting(protocol: Protocol, engine: &Capabilities) -> Vec<Kind> {
    let kinds: &[Kind] = match protocol {
        Protocol::Http | Protocol::Https | Protocol::Http3 => &[Kind::HttpRoute, Kind::GrpcRoute],
        Protocol::Tls => &[Kind::TlsRoute],
        Protocol::Tcp => &[Kind::TcpRoute],
        Protocol::Udp => &[Kind::UdpRoute],
    };
    kinds.iter().copied().filter(|kind| engine.route_kinds.contains(kind)).collect()
}

/// The kinds that a listener takes, and a finding for each that it lists and cannot take.
pub(super) fn supported(
    listed: &[RouteGroupKind],
    protocol: Protocol,
    engine: &Capabilities,
    path: &FieldPath,
) -> (Vec<Kind>, Vec<Finding>) {
    let fitting = fitting(protocol, engine);
    if listed.is_empty() {
        return (fitting, Vec::new());
    }
    let mut supported = Vec::new();
    let mut findings = Vec::new();
    for (index, entry) in listed.iter().enumerate() {
        match Kind::of(entry.group.as_str(), entry.kind.as_str()).filter(|kind| fitting.contains(kind)) {
            Some(kind) if supported.contains(&kind) => {}
            Some(kind) => supported.push(kind),
            None => {
                let message = format!("routes of kind {} cannot attach to this listener", entry.kind);
                findings.push(Finding::new(&LISTENER_ROUTE_KINDS, path.index(index), message));
            }
        }
    }
    (supported, findings)
}
