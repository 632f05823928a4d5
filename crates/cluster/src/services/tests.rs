//! Services of Gateways against an API server.

use portcullis_api::{Object, admit};
use portcullis_store::{Change, Report};
use serde_json::json;
use tokio::time::sleep;

use super::*;
use crate::mock::Cluster;

const US: &str = "portcullis.dev/gateway-controller";

struct Bench {
    cluster: Cluster,
    store: Store,
    leading: watch::Sender<bool>,
    writer: ServiceWriter,
}

impl Bench {
    fn new() -> Bench {
        let cluster = Cluster::default();
        let (leading, led) = watch::channel(true);
        let writer = ServiceWriter::new(cluster.client(), vec![US.into()], led);
        let mut bench = Bench { cluster, store: Store::new(), leading, writer };
        bench.put(&json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": {"name": "portcullis"}, "spec": {"controllerName": US},
        }));
        bench.store.apply([Change::Report(Report::DefaultAddresses(
            ["10.0.0.9".parse().unwrap(), "fd00::9".parse().unwrap(), "127.0.0.1".parse().unwrap()].into(),
        ))]);
        bench
    }

    fn put(&mut self, object: &Value) -> ChangeSet {
        let admitted = admit(object.clone());
        self.store.apply([Change::Put(admitted.object.unwrap())])
    }

    fn gateway(&mut self, name: &str, class: &str, infrastructure: &Value) {
        self.put(&json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": name, "namespace": "n", "uid": format!("gateway {name}")},
            "spec": {
                "gatewayClassName": class, "infrastructure": infrastructure,
                "listeners": [
                    {"name": "a", "port": 80, "protocol": "HTTP", "hostname": "a.test"},
                    {"name": "b", "port": 80, "protocol": "HTTP", "hostname": "b.test"},
                    {"name": "q", "port": 443, "protocol": "microgateway.airlock.com/http3", "tls": {"certificateRefs": [{"name": "c"}]}},
                ],
            },
        }));
    }

    /// Does what is due, lets the watch see it, and tells the writes since the last time.
    async fn settle(&mut self) -> Vec<String> {
        let before = self.cluster.writes().len();
        for _ in 0..3 {
            self.writer.update(&self.store, &|set| &*set.name != "refused");
            sleep(Duration::from_secs(1)).await;
            self.watch();
        }
        self.cluster.writes().split_off(before)
    }

    fn watch(&mut self) -> ChangeSet {
        let mut changes = ChangeSet::default();
        for kind in [Kind::Service, Kind::EndpointSlice] {
            let known = self.store.list(kind).map(Object::key);
            let gone: Vec<Change> =
                known.filter(|key| self.held(key).is_none()).map(Change::Remove).collect();
            changes.merge(self.store.apply(gone));
            let prefix = requests::path(&ObjectKey::new(kind, "n", ""), "v1");
            for mut object in self.cluster.below(&prefix) {
                object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
                changes.merge(self.put(&object));
            }
        }
        changes
    }

    fn held(&self, key: &ObjectKey) -> Option<Value> {
        self.cluster.object(&requests::path(key, "v1"))
    }

    fn service(&self, name: &str) -> Option<Value> {
        self.held(&ObjectKey::new(Kind::Service, "n", name))
    }
}

const SERVICE: &str = "/api/v1/namespaces/n/services/web-portcullis";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices/web-portcullis";

#[tokio::test(start_paused = true)]
async fn a_gateway_has_a_service_and_slices_and_they_are_written_once() {
    let mut bench = Bench::new();
    bench.gateway("web", "portcullis", &json!({"labels": {"team": "edge"}, "annotations": {"a/b": "c"}}));
    let writes = bench.settle().await;
    let apply = |path: &str| format!("PATCH {path}?fieldManager=portcullis");
    assert_eq!(writes, [apply(SERVICE), apply(&format!("{SLICES}-ipv4")), apply(&format!("{SLICES}-ipv6"))]);
    assert_eq!(bench.settle().await, [""; 0]);
    let service = bench.service("web-portcullis").unwrap();
    let labels = json!({
        "team": "edge", "app.kubernetes.io/managed-by": "portcullis",
        "gateway.networking.k8s.io/gateway-name": "web", "gateway.networking.k8s.io/gateway-class-name": "portcullis",
    });
    assert_eq!(service["metadata"]["labels"], labels);
    assert_eq!(service["metadata"]["annotations"]["a/b"], "c");
    assert_eq!(service["metadata"]["ownerReferences"][0]["uid"], "gateway web");
    assert_eq!(service["spec"].get("selector"), None);
    let ports =
        service["spec"]["ports"].as_array().unwrap().iter().map(|port| port["name"].as_str().unwrap());
    assert_eq!(ports.collect::<Vec<_>>(), ["tcp-80", "tcp-443", "udp-443"]);
    let slice = bench.cluster.object(&format!("{SLICES}-ipv4")).unwrap();
    assert_eq!(slice["endpoints"], json!([{"addresses": ["10.0.0.9"], "conditions": {"ready": true}}]));
    assert_eq!(slice["metadata"]["labels"]["kubernetes.io/service-name"], "web-portcullis");
}

#[tokio::test(start_paused = true)]
async fn a_restart_writes_nothing_and_what_others_change_is_put_right() {
    let mut bench = Bench::new();
    bench.gateway("web", "portcullis", &json!({"labels": {"team": "edge"}}));
    bench.settle().await;
    bench.writer = ServiceWriter::new(bench.cluster.client(), vec![US.into()], bench.leading.subscribe());
    assert_eq!(bench.settle().await, [""; 0]);
    let mut changed = bench.service("web-portcullis").unwrap();
    changed["metadata"]["labels"]["theirs"] = "stays".into();
    bench.cluster.change(SERVICE, |object| *object = changed);
    let changes = bench.watch();
    assert!(bench.writer.is_touched_by(&changes), "though this one has never written it");
    assert_eq!(bench.settle().await, [""; 0], "what others add is theirs");
    bench.cluster.change(SERVICE, |object| object["spec"]["ports"][0]["port"] = 81.into());
    bench.watch();
    assert_eq!(bench.settle().await, [format!("PATCH {SERVICE}?fieldManager=portcullis&force=true")]);
    bench.gateway("web", "portcullis", &json!({}));
    assert_eq!(bench.settle().await.len(), 3, "a label that is no longer wanted");
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_given_up_with_its_gateway() {
    let mut bench = Bench::new();
    bench.cluster.refuse(&[403; 50]);
    bench.gateway("web", "portcullis", &json!({}));
    bench.settle().await;
    let gone = Change::Remove(ObjectKey::new(Kind::Gateway, "n", "web"));
    let changes = bench.store.apply([gone]);
    assert!(bench.writer.is_touched_by(&changes));
    bench.settle().await;
    let asked = bench.cluster.requests().len();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(bench.cluster.requests().len(), asked);
}

/// Whatever its labels say: only an owner reference to the Gateway makes it ours.
#[tokio::test(start_paused = true)]
async fn a_service_of_somebody_else_is_never_touched() {
    let mut bench = Bench::new();
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 1}]},
        "metadata": {"name": "web-portcullis", "namespace": "n", "labels": {"app.kubernetes.io/managed-by": "portcullis"}},
    });
    bench.cluster.put(SERVICE, theirs);
    bench.watch();
    bench.gateway("web", "portcullis", &json!({}));
    let hashed = names::service("web", "portcullis").pop().unwrap();
    let writes = bench.settle().await;
    assert_eq!(writes.iter().filter(|line| line.contains("/services/")).count(), 1);
    assert!(bench.service(&hashed).is_some());
    assert_eq!(bench.service("web-portcullis").unwrap()["spec"], json!({"ports": [{"port": 1}]}));
    assert_eq!(bench.settle().await, [""; 0]);
}

/// The watch has not told yet that somebody was faster.
#[tokio::test(start_paused = true)]
async fn a_service_that_appeared_meanwhile_is_not_taken_over() {
    let mut bench = Bench::new();
    bench.gateway("web", "portcullis", &json!({}));
    bench.cluster.put(SERVICE, json!({"metadata": {"name": "web-portcullis", "namespace": "n"}, "spec": {}}));
    bench.writer.update(&bench.store, &|_| true);
    sleep(Duration::from_secs(1)).await;
    assert!(!bench.cluster.writes().iter().any(|line| line.contains("/services/")));
}

#[tokio::test(start_paused = true)]
async fn what_a_gateway_of_ours_had_goes_when_it_is_ours_no_more() {
    let mut bench = Bench::new();
    bench.gateway("web", "portcullis", &json!({}));
    bench.settle().await;
    bench.gateway("web", "theirs", &json!({}));
    let writes = bench.settle().await;
    assert_eq!(
        writes,
        [format!("DELETE {SERVICE}"), format!("DELETE {SLICES}-ipv4"), format!("DELETE {SLICES}-ipv6")]
    );
    assert_eq!(bench.service("web-portcullis"), None);
}

#[tokio::test(start_paused = true)]
async fn ports_of_accepted_listener_sets_are_exposed() {
    let mut bench = Bench::new();
    bench.gateway("web", "portcullis", &json!({}));
    for (name, port) in [("set", 81), ("refused", 82)] {
        bench.put(&json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "ListenerSet",
            "metadata": {"name": name, "namespace": "n"},
            "spec": {"parentRef": {"name": "web"}, "listeners": [{"name": "x", "port": port, "protocol": "HTTP"}]},
        }));
    }
    bench.settle().await;
    let service = bench.service("web-portcullis").unwrap();
    let ports =
        service["spec"]["ports"].as_array().unwrap().iter().map(|port| port["port"].as_u64().unwrap());
    assert_eq!(ports.collect::<Vec<_>>(), [80, 81, 443, 443]);
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_writes_and_failures_are_tried_again() {
    let mut bench = Bench::new();
    bench.leading.send_replace(false);
    bench.gateway("web", "portcullis", &json!({}));
    assert_eq!(bench.settle().await, [""; 0]);
    bench.leading.send_replace(true);
    bench.cluster.refuse(&[500, 500, 503, 500]);
    bench.settle().await;
    assert!(bench.service("web-portcullis").is_some());
}
