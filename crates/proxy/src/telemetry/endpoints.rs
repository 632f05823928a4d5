//! The endpoints as the admin endpoint lists them: where requests may go now, and where not.

use portcullis_model::{EndpointState, EndpointsKey, Transport};
use serde::{Deserialize, Serialize};

use crate::shared::Shared;
use crate::upstream::Seen;

/// What `/endpoints` of the admin endpoint says, in JSON: all backends that rules lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointsReport {
    /// In the order of their names.
    pub backends: Vec<ReportedBackend>,
}

/// A backend, and where its instances are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedBackend {
    /// `Service` or `Backend`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The Service's port; none for a `Backend`, whose endpoints have ports of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// `TCP` or `UDP`.
    pub protocol: String,
    /// In the order of their addresses.
    pub endpoints: Vec<ReportedEndpoint>,
}

/// An instance of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportedEndpoint {
    /// An address and port, or `unix:` and a path.
    pub address: String,
    /// `ready` or `draining`.
    pub state: String,
    /// Whether requests go there now.
    pub used: bool,
    /// For how many more seconds it is shut out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ejected_for_seconds: Option<u64>,
    /// Whether its share still grows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slow_start: bool,
}

/// The report of a proxy.
pub(crate) fn report(shared: &Shared) -> EndpointsReport {
    let seen = shared.endpoints.seen();
    EndpointsReport { backends: seen.iter().map(|(key, endpoints)| backend(key, endpoints)).collect() }
}

fn backend(key: &EndpointsKey, endpoints: &[Seen]) -> ReportedBackend {
    ReportedBackend {
        kind: key.origin.kind.to_string(),
        namespace: key.origin.namespace.to_string(),
        name: key.origin.name.to_string(),
        port: (key.port != 0).then_some(key.port),
        protocol: match key.transport {
            Transport::Tcp => "TCP".to_owned(),
            Transport::Udp => "UDP".to_owned(),
        },
        endpoints: endpoints.iter().map(endpoint).collect(),
    }
}

fn endpoint(seen: &Seen) -> ReportedEndpoint {
    ReportedEndpoint {
        address: seen.address.to_string(),
        state: match seen.state {
            EndpointState::Ready => "ready".to_owned(),
            EndpointState::Draining => "draining".to_owned(),
        },
        used: seen.used && seen.ejected.is_none(),
        ejected_for_seconds: seen.ejected,
        slow_start: seen.warming,
    }
}
