//! Services as backends.

use portcullis_api::ObjectKey;
use portcullis_api::k8s_openapi::api::core::v1::{Service, ServicePort};

use portcullis_model::UpstreamProtocol;

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
    let Some(port) = find_port(&service, number) else {
        return Err(Refusal::new(&BACKEND_NOT_FOUND, format!("{name} has no TCP port {number}")));
    };
    if port.protocol.as_deref().is_some_and(|protocol| protocol != "TCP") {
        let protocol = port.protocol.as_deref().unwrap_or_default();
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
        Some(Err(why)) => Err(Refusal::guarded(&BACKEND_GUARDED, why)),
        _ => Ok((number, protocol)),
    }
}

pub(super) fn is_external_name(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some("ExternalName")
}

/// The port of this number, a TCP one if there are several.
pub(super) fn find_port(service: &Service, number: u16) -> Option<&ServicePort> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let of_number = || ports.iter().filter(|port| port.port == i32::from(number));
    let tcp = |port: &&ServicePort| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP");
    of_number().find(tcp).or_else(|| of_number().next())
}
