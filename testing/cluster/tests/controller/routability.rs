//! Addresses by routability (GEP-5093), which the official suite does not try.

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use crate::stage::{Stage, condition, status, verdict};

/// Of the test cluster's ServiceCIDR, 10.96.0.0/16, and of no cluster's.
const GIVEN: &str = "10.96.123.45";
const OUTSIDE: &str = "10.97.0.1";

const GATEWAY: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: inner, namespace: default}
spec:
  gatewayClassName: portcullis
  addresses:
  - {routability: Cluster}
  - {routability: Cluster, value: 10.96.123.45}
  - {routability: Cluster, value: 10.97.0.1}
  - {routability: testing.x-k8s.io/sentinel}
  - {routability: example.com/private}
  listeners: [{name: http, port: 80, protocol: HTTP}]
";

/// Each entry is judged alone: an address of the ServiceCIDR is that of a Service of the Gateway's own, which leads to
/// where the Gateway is bound; what cannot be had is named, and keeps nothing else from being served.
#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_the_cluster_are_those_of_services() {
    let Some(stage) = Stage::start("routability").await else { return };
    stage.cluster.apply(GATEWAY).unwrap();
    let settled = |status: &Value| {
        let shown = status["addresses"].as_array().map_or(0, Vec::len);
        verdict(status, "Programmed") == Some("True") && shown == 3
    };
    let gateway = stage.when("Gateway", "default", "inner", "reached in three places", settled).await;
    let status = status(&gateway);

    let assigned = condition(status, "AddressesAssigned").unwrap();
    assert_eq!((&assigned["status"], &assigned["reason"]), (&json!("False"), &json!("PartiallyAssigned")));
    let message = assigned["message"].as_str().unwrap();
    for entry in ["spec.addresses[2]", "spec.addresses[4] asks for routability example.com/private"] {
        assert!(message.contains(entry), "{message}");
    }
    let address = |index: usize| status["addresses"][index]["value"].as_str().unwrap();
    let routability: Vec<&str> =
        (0..3).map(|index| status["addresses"][index]["routability"].as_str().unwrap()).collect();
    assert_eq!(routability, ["Cluster", "Cluster", "testing.x-k8s.io/sentinel"]);
    assert_eq!(address(1), GIVEN);

    let services: Api<Service> = Api::namespaced(stage.client.clone(), "default");
    let own = ListParams::default().labels("gateway.networking.k8s.io/gateway-name=inner");
    let ips: Vec<String> =
        services.list(&own).await.unwrap().items.into_iter().filter_map(cluster_ip).collect();
    assert_eq!(ips.len(), 2, "the API server takes none for {OUTSIDE}: {ips:?}");
    assert!(ips.iter().any(|ip| ip == address(0)) && ips.iter().any(|ip| ip == GIVEN), "{ips:?}");
    let slices: Api<EndpointSlice> = Api::namespaced(stage.client.clone(), "default");
    for slice in slices.list(&own).await.unwrap() {
        let endpoints: Vec<&String> =
            slice.endpoints.iter().flatten().flat_map(|one| &one.addresses).collect();
        assert_eq!(endpoints, [address(2)], "the Services lead to where the Gateway is bound");
    }
}

fn cluster_ip(service: Service) -> Option<String> {
    service.spec?.cluster_ip
}
