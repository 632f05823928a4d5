//! What a Service in front of the node says about its addresses.

use std::net::IpAddr;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Service;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Client};
use portcullis_store::{PublishedAddress, Report};
use tokio::sync::watch;
use tracing::warn;

/// Watches the Service that `--publish-service` names, on the current runtime, until nobody wants to know. `node` are the
/// addresses of the node that we are on.
///
/// What is received is none until the API server has answered. A Service that is gone publishes nothing.
#[must_use]
pub fn follow_published(
    client: Client,
    (namespace, name): (&str, &str),
    node: Vec<IpAddr>,
) -> watch::Receiver<Option<Report>> {
    let (tell, told) = watch::channel(None);
    let mut events =
        watch_object(Api::<Service>::namespaced(client, namespace), name).default_backoff().boxed();
    let service = format!("{namespace}/{name}");
    let follow = async move {
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = tell.closed() => return,
            };
            match event {
                Some(Ok(service)) => {
                    tell.send_replace(Some(published(service.as_ref(), &node)));
                }
                Some(Err(error)) => {
                    warn!(%service, %error, "the published Service cannot be watched; it is tried again");
                }
                None => return,
            }
        }
    };
    tokio::spawn(follow);
    told
}

/// The addresses of the Service that `--publish-service` names: those of its load balancer, else its external ones, else
/// the node's, if it is reached by ports of the node.
///
/// Source: `Service.status.loadBalancer.ingress`, `Service.spec.externalIPs`, `Service.spec.type`.
fn published(service: Option<&Service>, node: &[IpAddr]) -> Report {
    let ingress = service
        .and_then(|service| service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_deref())
        .unwrap_or_default();
    let mut addresses: Vec<PublishedAddress> = Vec::new();
    for point in ingress {
        let ip = point.ip.as_ref().and_then(|ip| ip.parse().ok()).map(PublishedAddress::Ip);
        let hostname = || {
            let name = point.hostname.as_deref().filter(|name| !name.is_empty());
            name.map(|name| PublishedAddress::Hostname(name.into()))
        };
        addresses.extend(ip.or_else(hostname));
    }
    if addresses.is_empty() {
        let spec = service.and_then(|service| service.spec.as_ref());
        let external = spec.and_then(|spec| spec.external_ips.as_deref()).unwrap_or_default();
        addresses.extend(external.iter().filter_map(|ip| ip.parse().ok()).map(PublishedAddress::Ip));
        if addresses.is_empty() && spec.is_some_and(|spec| spec.type_.as_deref() == Some("NodePort")) {
            addresses.extend(node.iter().copied().map(PublishedAddress::Ip));
        }
    }
    Report::Published(Arc::from(addresses))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NODE: [IpAddr; 2] = [
        IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    ];

    #[test]
    fn the_load_balancer_goes_before_external_addresses() {
        let service = json!({
            "spec": {"externalIPs": ["203.0.113.9"]},
            "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}, {"hostname": "lb.example.com"}, {}]}},
        });
        let both = [
            PublishedAddress::Ip("203.0.113.1".parse().unwrap()),
            PublishedAddress::Hostname("lb.example.com".into()),
        ];
        let read = |service| published(Some(&serde_json::from_value(service).unwrap()), &NODE);
        assert_eq!(read(service.clone()), Report::Published(both.into()));
        let mut waiting = service;
        waiting["status"] = json!({});
        let external = [PublishedAddress::Ip("203.0.113.9".parse().unwrap())];
        assert_eq!(read(waiting), Report::Published(external.into()));
        assert_eq!(published(None, &NODE), Report::Published([].into()));
    }

    /// What is reached by ports of the node is reached at the node; one that waits for its load balancer is not.
    #[test]
    fn a_service_of_node_ports_is_reached_at_the_node() {
        let read = |kind: &str, external: &[&str]| {
            let service = json!({"spec": {"type": kind, "externalIPs": external}});
            published(Some(&serde_json::from_value(service).unwrap()), &NODE)
        };
        let ips = |ips: &[IpAddr]| Report::Published(ips.iter().copied().map(PublishedAddress::Ip).collect());
        assert_eq!(read("NodePort", &[]), ips(&NODE));
        assert_eq!(read("NodePort", &["203.0.113.9"]), ips(&["203.0.113.9".parse().unwrap()]));
        assert_eq!((read("LoadBalancer", &[]), read("ClusterIP", &[])), (ips(&[]), ips(&[])));
    }
}
