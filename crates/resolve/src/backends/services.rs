//! Services as backends.

use portcullis_api::ObjectKey;
use portcullis_api::k8s_openapi::api::core::v1::{Service, ServicePort};

use portcullis_model::{Transport, UpstreamProtocol};

use super::Refusal;
use super::protocols::{self, Speech};
use crate::backend_tls::BackendTls;
use crate::causes::{BACKEND_GUARDED, BACKEND_NOT_FOUND, BACKEND_PROTOCOL, BACKEND_VALUE};
use crate::view::View;

/// The port of a Service that a reference leads to and what it speaks, or why it leads nowhere.
pub(super) fn resolve(
    view: &View<'_>,
    key: &ObjectKey,
    port: Option<u16>,
    speech: Speech,
) -> Result<(u16, UpstreamProtocol), Refusal> {
    let name = format!("Service {}/{}", key.namespace, key.name);
    let Some(service) = view.service(key) else {
        return Err(Refusal::new(&BACKEND_NOT_FOUND, format!("{name} does not exist")));
    };
    if is_external_name(&service) {
        let message = format!("{name} is of type ExternalName, which is not forwarded to");
        return Err(Refusal::new(&BACKEND_VALUE, message));
    }
    let Some(number) = port else {
        return Err(Refusal::new(&BACKEND_NOT_FOUND, format!("the reference to {name} names no port")));
    };
    let transport = speech.transport();
    let Some(port) = find_port(&service, number, transport) else {
        let wanted = protocol_of(transport);
        return Err(Refusal::new(&BACKEND_NOT_FOUND, format!("{name} has no {wanted} port {number}")));
    };
    if !is_over(port.protocol.as_deref(), transport) {
        let protocol = port.protocol.as_deref().unwrap_or(TCP);
        return Err(Refusal::new(&BACKEND_PROTOCOL, format!("port {number} of {name} is {protocol}")));
    }
    let port_name = port.name.as_deref().unwrap_or_default();
    let tls = view.get(&BackendTls { backend: key.clone(), port: Some(port_name.into()) });
    let app = port.app_protocol.as_deref().unwrap_or_default();
    let Some(protocol) = protocols::of_service(app, speech, tls.is_some()) else {
        let message = format!("port {number} of {name} has appProtocol {app}, which this route cannot speak");
        return Err(Refusal::new(&BACKEND_PROTOCOL, message));
    };
    match tls.as_ref() {
        Some(Err(why)) if speech.is_guardable() => Err(Refusal::guarded(&BACKEND_GUARDED, why)),
        _ => Ok((number, protocol)),
    }
}

pub(super) fn is_external_name(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some("ExternalName")
}

/// What Services call TCP, and mean if they name no protocol.
pub(super) const TCP: &str = "TCP";

fn protocol_of(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => TCP,
        Transport::Udp => "UDP",
    }
}

/// Whether the `protocol` of a port is this transport.
pub(super) fn is_over(protocol: Option<&str>, transport: Transport) -> bool {
    protocol.unwrap_or(TCP) == protocol_of(transport)
}

/// The port of this number, that of the transport if there are several.
pub(super) fn find_port(service: &Service, number: u16, transport: Transport) -> Option<&ServicePort> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let of_number = || ports.iter().filter(|port| port.port == i32::from(number));
    of_number().find(|port| is_over(port.protocol.as_deref(), transport)).or_else(|| of_number().next())
}
