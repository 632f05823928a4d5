//! What a running proxy knows of endpoints, asked at its admin address.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use portcullis_proxy::{EndpointsReport, ReportedBackend};

use super::answer::{EndpointView, Object};
use crate::exit::Failure;

/// How long the proxy may take to answer: it does so from memory.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks a running proxy.
pub(super) fn ask(admin: SocketAddr) -> Result<EndpointsReport, Failure> {
    let answer = exchange(admin).map_err(|error| {
        Failure::new(format!("the proxy at {admin} cannot be asked: {error}"))
            .hint("give the address that it was told with --admin")
    })?;
    let parts = answer.split_once("\r\n\r\n").filter(|(head, _)| head.starts_with("HTTP/1.1 200 "));
    parts.and_then(|(_, body)| serde_json::from_str(body).ok()).ok_or_else(|| {
        Failure::new(format!("{admin} does not answer like the admin endpoint of Portcullis"))
            .hint("give the address that the proxy was told with --admin")
    })
}

/// One request, and its answer to the end of the connection.
fn exchange(admin: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&admin, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET /endpoints HTTP/1.1\r\nHost: {admin}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Corrects an answer by what the proxy says: which endpoints it uses, and why not the others. What it does not know stays
/// as it was resolved.
pub(super) fn heed<'a>(
    report: &EndpointsReport,
    protocol: &str,
    backends: impl Iterator<Item = (&'a Object, Option<u16>, &'a mut [EndpointView])>,
) {
    for (object, port, endpoints) in backends {
        let is_it = |known: &&ReportedBackend| is_of(known, object, port) && known.protocol == protocol;
        let Some(known) = report.backends.iter().find(is_it) else { continue };
        for endpoint in endpoints {
            if let Some(known) = known.endpoints.iter().find(|known| known.address == endpoint.address) {
                endpoint.used = known.used;
                endpoint.ejected_for_seconds = known.ejected_for_seconds;
                endpoint.slow_start = known.slow_start;
            }
        }
    }
}

/// A `Backend` has no port in the report, whatever the reference says.
fn is_of(known: &ReportedBackend, object: &Object, port: Option<u16>) -> bool {
    *known.kind == *object.kind
        && *known.namespace == *object.namespace
        && *known.name == *object.name
        && (known.port.is_none() || known.port == port)
}
