//! What is said about EndpointSlices. They have no status: `check` and the log say it.

use std::net::IpAddr;

use portcullis_api::k8s_openapi::api::core::v1::{Service, ServicePort};
use portcullis_api::k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};
use portcullis_api::{FieldPath, Kind, ObjectKey};
use portcullis_model::UpstreamScope;
use portcullis_store::SERVICE_NAME;

use super::services::TCP;
use crate::causes::{BACKEND_OUT_OF_SCOPE, SLICE_APP_PROTOCOL_NO_EFFECT};
use crate::finding::Finding;
use crate::memo::Query;
use crate::outcome::Outcome;
use crate::view::View;

/// What is said about an EndpointSlice: where its endpoints may not be, and what of it has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SliceOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for SliceOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(slice) = view.endpoint_slice(&self.key) else { return Outcome::default() };
        let mut findings = out_of_scope(&view.engine().upstreams, &slice);
        if slice.ports.iter().flatten().any(|port| port.app_protocol.is_some()) {
            findings.extend(app_protocols(view, &self.key, &slice));
        }
        Outcome::new(&self.key, None, &findings)
    }
}

fn out_of_scope(scope: &UpstreamScope, slice: &EndpointSlice) -> Vec<Finding> {
    let mut findings = Vec::new();
    if *scope == UpstreamScope::Anywhere {
        return findings;
    }
    for (index, endpoint) in slice.endpoints.iter().flatten().enumerate() {
        let addresses = endpoint.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok());
        findings.extend(addresses.filter(|address| !scope.admits(*address)).map(|address| {
            let path = FieldPath::of("endpoints").index(index);
            let message = format!("the backend may not be at {address}: that is this machine or its link");
            Finding::new(&BACKEND_OUT_OF_SCOPE, path, message)
        }));
    }
    findings
}

/// Ports of which the slice says another protocol than its Service. The Service's word holds, for it is the one that
/// routes refer to: what a route can speak must not depend on which endpoints are there.
fn app_protocols(view: &View<'_>, key: &ObjectKey, slice: &EndpointSlice) -> Vec<Finding> {
    let name = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
    let service =
        name.map(|name| ObjectKey::new(Kind::Service, std::sync::Arc::clone(&key.namespace), name.as_str()));
    let Some(service) = service.and_then(|service| view.service(&service)) else { return Vec::new() };
    let ports = slice.ports.iter().flatten().enumerate();
    let differing = ports.filter_map(|(index, port)| {
        let said = port.app_protocol.as_deref()?;
        let meant = port_of(&service, port)?.app_protocol.as_deref().unwrap_or_default();
        if said.eq_ignore_ascii_case(meant) {
            return None;
        }
        let path = FieldPath::of("ports").index(index).field("appProtocol");
        let meant = if meant.is_empty() { "none".to_owned() } else { format!("{meant:?}") };
        let message = format!("appProtocol is {said:?} here and {meant} at the Service's port, which holds");
        Some(Finding::new(&SLICE_APP_PROTOCOL_NO_EFFECT, path, message))
    });
    differing.collect()
}

/// The Service's port that a slice's port stands for: that of its name and transport.
fn port_of<'s>(service: &'s Service, port: &EndpointPort) -> Option<&'s ServicePort> {
    let mut ports = service.spec.as_ref()?.ports.iter().flatten();
    let name = port.name.as_deref().unwrap_or_default();
    let transport = port.protocol.as_deref().unwrap_or(TCP);
    ports.find(|one| {
        one.name.as_deref().unwrap_or_default() == name && one.protocol.as_deref().unwrap_or(TCP) == transport
    })
}
