//! Services.

use k8s_openapi::{
    api::core::v1::{Service, ServicePort},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::{Findings, missing, refuse};
use crate::{field_path::FieldPath, patterns::DNS_LABEL};

/// Sets defaults (type ClusterIP; protocol TCP, the target port that of the port) and examines
/// the ports.
pub(super) fn examine(service: &mut Service, findings: &mut Findings) {
    let spec = service.spec.get_or_insert_default();
    let service_type = spec.type_.get_or_insert_with(|| "ClusterIP".to_owned()).as_str();
    let path = FieldPath::of("spec");
    if !matches!(service_type, "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName") {
        let message =
            format!("must be ClusterIP, NodePort, LoadBalancer or ExternalName, not {service_type:?}");
        refuse(path.field("type"), message, findings);
    }
    let needs_ports = service_type != "ExternalName" && spec.cluster_ip.as_deref() != Some("None");
    let ports = spec.ports.get_or_insert_default();
    if ports.is_empty() && needs_ports {
        missing(path.field("ports"), findings);
    }
    for port in ports.iter_mut() {
        port.protocol.get_or_insert_with(|| "TCP".to_owned());
        port.target_port.get_or_insert(IntOrString::Int(port.port));
    }
    examine_ports(ports, &path.field("ports"), findings);
}

fn examine_ports(ports: &[ServicePort], path: &FieldPath, findings: &mut Findings) {
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        if !(1..=65_535).contains(&port.port) {
            let message = format!("must be from 1 to 65535, not {}", port.port);
            refuse(path.field("port"), message, findings);
        }
        match port.protocol.as_deref() {
            Some("TCP" | "UDP" | "SCTP") | None => {}
            Some(other) => {
                let message = format!("must be TCP, UDP or SCTP, not {other:?}");
                refuse(path.field("protocol"), message, findings);
            }
        }
        match port.name.as_deref().unwrap_or_default() {
            "" if ports.len() > 1 => missing(path.field("name"), findings),
            "" => {}
            name if name.len() > 63 || !DNS_LABEL.matches(name) => {
                let message = format!("{name:?} must be lower case letters, digits and -");
                refuse(path.field("name"), message, findings);
            }
            _ => {}
        }
        let earlier = ports.iter().take(index);
        for other in earlier {
            let has_name = port.name.as_deref().is_some_and(|name| !name.is_empty());
            if has_name && port.name == other.name {
                refuse(path.field("name"), "names of ports must be unique", findings);
            }
            if port.port == other.port && port.protocol == other.protocol {
                refuse(path.field("port"), "ports must be unique per protocol", findings);
            }
        }
    }
}
