//! What a Service in front of the node says about its addresses.

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Service;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Client};
use portcullis_store::{PublishedAddress, Report};
use tokio::sync::watch;
use tracing::warn;

/// Watches the Service that `--publish-service` names, on the current runtime, until nobody wants to know.
///
/// What is received is none until the API server has answered. A Service that is gone publishes nothing.
#[must_use]
pub fn follow_published(client: Client, namespace: &str, name: &str) -> watch::Receiver<Option<Report>> {
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
                    tell.send_replace(Some(published(service.as_ref())));
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

/// The addresses of the Service that `--publish-service` names: those of its load balancer, else its external ones.
///
/// Source: `Service.status.loadBalancer.ingress`, `Service.spec.externalIPs`.
fn published(service: Option<&Service>) -> Report {
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
    }
    Report::Published(Arc::from(addresses))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        let read = |service| published(Some(&serde_json::from_value(service).unwrap()));
        assert_eq!(read(service.clone()), Report::Published(both.into()));
        let mut waiting = service;
        waiting["status"] = json!({});
        let external = [PublishedAddress::Ip("203.0.113.9".parse().unwrap())];
        assert_eq!(read(waiting), Report::Published(external.into()));
        assert_eq!(published(None), Report::Published([].into()));
    }
}
