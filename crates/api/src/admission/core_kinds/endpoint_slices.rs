//! EndpointSlices.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::{Findings, missing, refuse};
use crate::{
    admission::rules::LOOPBACK_ENDPOINT, diagnostic::Diagnostic, field_path::FieldPath,
    hostname::PreciseHostname,
};

/// Addresses per endpoint, at most.
const MAX_ADDRESSES: usize = 100;
/// Endpoints per slice, at most.
const MAX_ENDPOINTS: usize = 1000;

/// Sets defaults (protocol TCP) and examines addresses and ports.
pub(super) fn examine(slice: &mut EndpointSlice, findings: &mut Findings) {
    match slice.address_type.as_str() {
        "IPv4" | "IPv6" | "FQDN" => {}
        "" => missing(FieldPath::of("addressType"), findings),
        other => {
            let message = format!("must be IPv4, IPv6 or FQDN, not {other:?}");
            refuse(FieldPath::of("addressType"), message, findings);
        }
    }
    let path = FieldPath::of("endpoints");
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    if endpoints.len() > MAX_ENDPOINTS {
        refuse(path.clone(), format!("must have at most {MAX_ENDPOINTS} entries"), findings);
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(index).field("addresses");
        if endpoint.addresses.is_empty() {
            missing(path.clone(), findings);
        }
        if endpoint.addresses.len() > MAX_ADDRESSES {
            refuse(path.clone(), format!("must have at most {MAX_ADDRESSES} entries"), findings);
        }
        for (index, address) in endpoint.addresses.iter().enumerate() {
            examine_address(&slice.address_type, address, path.index(index), findings);
        }
    }
    for (index, port) in slice.ports.iter_mut().flatten().enumerate() {
        port.protocol.get_or_insert_with(|| "TCP".to_owned());
        if port.port.is_some_and(|port| !(1..=65_535).contains(&port)) {
            let path = FieldPath::of("ports").index(index).field("port");
            refuse(path, "must be from 1 to 65535", findings);
        }
    }
}

fn examine_address(address_type: &str, address: &str, path: FieldPath, findings: &mut Findings) {
    let ip: Option<IpAddr> = match address_type {
        "IPv4" => address.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        "IPv6" => address.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        "FQDN" => {
            if PreciseHostname::new(address).is_err() {
                refuse(path, format!("{address:?} is not a DNS name"), findings);
            }
            return;
        }
        _ => return, // already refused
    };
    match ip {
        None => refuse(path, format!("{address:?} is not an {address_type} address"), findings),
        Some(ip) if ip.is_loopback() => {
            let message = format!("{address} is a loopback address");
            findings.push(Diagnostic::new(&LOOPBACK_ENDPOINT, path, message));
        }
        Some(_) => {}
    }
}
