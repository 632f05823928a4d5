//! The Service and EndpointSlices that a Gateway shall have, as server-side apply takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use portcullis_api::gateway::{Gateway, GatewayAddress};
use portcullis_api::listener::{Listener, Protocol};
use portcullis_api::{Kind, ObjectKey};
use portcullis_store::{SERVICE_NAME, Transport};
use serde_json::{Value, json};

use super::names;

/// The label that says who made an object.
pub(super) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "portcullis");

/// A port on which a Gateway listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Port {
    number: u16,
    transport: Transport,
}

impl Port {
    /// The ports of a listener: http3 is served over both transports.
    pub(super) fn of(listener: &Listener) -> impl Iterator<Item = Port> + use<> {
        let transports: &[Transport] = match &listener.protocol {
            Protocol::Http | Protocol::Https | Protocol::Tls | Protocol::Tcp => &[Transport::Tcp],
            Protocol::Udp => &[Transport::Udp],
            other if other.as_str() == "microgateway.airlock.com/http3" => &[Transport::Tcp, Transport::Udp],
            _ => &[],
        };
        let number = listener.port.get();
        transports.iter().map(move |transport| Port { number, transport: *transport })
    }

    fn protocol(self) -> &'static str {
        match self.transport {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        }
    }

    fn name(self) -> String {
        format!("{}-{}", self.protocol().to_ascii_lowercase(), self.number)
    }
}

/// What a Gateway shall have in its namespace.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) ports: BTreeSet<Port>,
    pub(super) addresses: Vec<IpAddr>,
}

impl Wanted<'_> {
    /// The objects, if the Service has this name.
    pub(super) fn objects(&self, service: &str) -> Vec<(ObjectKey, Value)> {
        // An address of the ServiceCIDR that is asked for by value has a Service of its own: the API server may refuse
        // it, and no Service can change its address.
        let entries = self.gateway.spec.addresses.iter().filter(|entry| entry.is_in_cluster());
        let fixed =
            entries.filter_map(GatewayAddress::ip).map(|ip| (names::with_address(service, ip), Some(ip)));
        let services = std::iter::once((service.to_owned(), None)).chain(fixed);
        services.flat_map(|(name, ip)| self.service_and_slices(&name, ip)).collect()
    }

    fn service_and_slices(&self, name: &str, ip: Option<IpAddr>) -> Vec<(ObjectKey, Value)> {
        let mut objects = vec![self.service(name, ip)];
        objects.extend(self.slice(name, "IPv4", IpAddr::is_ipv4));
        objects.extend(self.slice(name, "IPv6", IpAddr::is_ipv6));
        objects
    }

    fn service(&self, name: &str, ip: Option<IpAddr>) -> (ObjectKey, Value) {
        let ports = self.ports.iter().map(|port| {
            json!({
                "name": port.name(), "port": port.number, "protocol": port.protocol(), "targetPort": port.number,
            })
        });
        let ports: Vec<Value> = ports.collect();
        let key = self.key(Kind::Service, name);
        let metadata = self.metadata(&key, &[]);
        let mut spec = json!({"type": "ClusterIP", "ports": ports});
        if let (Some(ip), Some(spec)) = (ip, spec.as_object_mut()) {
            spec.insert("clusterIP".to_owned(), ip.to_string().into());
        }
        (key, json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}))
    }

    /// The slice of one address family; none without addresses. Loopback, link-local and unspecified addresses are
    /// no endpoints to the API server.
    fn slice(
        &self,
        service: &str,
        family: &str,
        is_of_it: fn(&IpAddr) -> bool,
    ) -> Option<(ObjectKey, Value)> {
        let addresses = self.addresses.iter().filter(|ip| is_of_it(ip) && can_be_endpoint(**ip));
        let endpoints: Vec<Value> =
            addresses.map(|ip| json!({"addresses": [ip], "conditions": {"ready": true}})).collect();
        if endpoints.is_empty() {
            return None;
        }
        let ports = self
            .ports
            .iter()
            .map(|port| json!({"name": port.name(), "port": port.number, "protocol": port.protocol()}));
        let ports: Vec<Value> = ports.collect();
        let key = self.key(Kind::EndpointSlice, &format!("{service}-{}", family.to_ascii_lowercase()));
        let labels = [(SERVICE_NAME, service), ("endpointslice.kubernetes.io/managed-by", "portcullis.dev")];
        let metadata = self.metadata(&key, &labels);
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata,
            "addressType": family, "endpoints": endpoints, "ports": ports,
        });
        Some((key, slice))
    }

    fn key(&self, kind: Kind, name: &str) -> ObjectKey {
        ObjectKey::new(kind, self.gateway.metadata.namespace.as_deref().unwrap_or_default(), name)
    }

    fn metadata(&self, key: &ObjectKey, extra: &[(&str, &str)]) -> Value {
        let gateway = self.gateway;
        let name = gateway.metadata.name.as_deref().unwrap_or_default();
        let infrastructure = gateway.spec.infrastructure.as_ref();
        let mut labels = BTreeMap::new();
        for (label, value) in infrastructure.iter().flat_map(|infrastructure| &infrastructure.labels) {
            labels.insert(label.to_string(), value.to_string());
        }
        for (label, value) in extra.iter().chain([&MANAGED_BY]) {
            labels.insert((*label).to_owned(), (*value).to_owned());
        }
        labels.insert("gateway.networking.k8s.io/gateway-name".to_owned(), names::label(name));
        let class = names::label(gateway.spec.gateway_class_name.as_str());
        labels.insert("gateway.networking.k8s.io/gateway-class-name".to_owned(), class);
        let annotations = infrastructure.map(|infrastructure| &infrastructure.annotations);
        let owner = json!({
            "apiVersion": Kind::Gateway.api_version(), "kind": "Gateway", "name": name,
            "uid": gateway.metadata.uid.as_deref().unwrap_or_default(), "controller": true,
        });
        json!({
            "name": *key.name, "namespace": *key.namespace, "labels": labels,
            "annotations": annotations.cloned().unwrap_or_default(), "ownerReferences": [owner],
        })
    }
}

fn can_be_endpoint(ip: IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || link_local)
}
