//! Clusters start, answer, survive what tests do to them, and leave nothing behind.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, ResourceExt,
    api::{ListParams, PostParams, WatchParams},
    core::WatchEvent,
};
use portcullis_cluster_testing::{Bundle, Channel, Cluster, Options, is_possible};

fn options(name: &str, bundle: Option<Bundle>) -> Options {
    Options { name: format!("{name}-{}", std::process::id()), bundle }
}

/// Two clusters at once share nothing, and with the values that hold them their networks and folders go.
#[tokio::test]
async fn clusters_run_side_by_side_and_leave_nothing_behind() {
    if !is_possible() {
        return;
    }
    let standard = Bundle { channel: Channel::Standard, ..Bundle::default() };
    let one = Cluster::start(options("one", Some(standard))).await.unwrap();
    let other = Cluster::start(options("other", None)).await.unwrap();

    let namespaces: Api<Namespace> = Api::all(one.client().await.unwrap());
    let made = serde_json::from_value(serde_json::json!({"metadata": {"name": "only-in-one"}})).unwrap();
    namespaces.create(&PostParams::default(), &made).await.unwrap();
    let names = |list: Vec<Namespace>| list.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    let all = ["default", "kube-node-lease", "kube-public", "kube-system", "only-in-one"];
    assert_eq!(names(namespaces.list(&ListParams::default()).await.unwrap().items), all);
    let others: Api<Namespace> = Api::all(other.client().await.unwrap());
    assert_eq!(names(others.list(&ListParams::default()).await.unwrap().items), all[..4]);

    let kinds = |cluster: &Cluster| {
        let listed = cluster.kubectl().args(["api-resources", "--output=name"]).output().unwrap();
        String::from_utf8(listed.stdout).unwrap()
    };
    assert!(kinds(&one).contains("httproutes.gateway.networking.k8s.io"));
    assert!(!kinds(&one).contains("x-k8s.io"), "the standard channel has no experimental kinds");
    assert!(!kinds(&other).contains("gateway.networking.k8s.io"));

    let (folder, network) = (one.folder().to_owned(), one.network().name());
    assert!(folder.exists() && network_exists(&network));
    drop(one);
    assert!(!folder.exists() && !network_exists(&network));
    assert!(others.get("default").await.is_ok(), "the other cluster goes on");
}

/// A watch that names a version from before a compaction is told so by an API server that has no memory of it.
#[tokio::test]
async fn a_restarted_api_server_keeps_objects_and_forgets_compacted_history() {
    if !is_possible() {
        return;
    }
    let mut cluster = Cluster::start(options("faults", None)).await.unwrap();
    let client = cluster.client().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map: ConfigMap = serde_json::from_value(serde_json::json!({"metadata": {"name": "kept"}})).unwrap();
    let version = maps.create(&PostParams::default(), &map).await.unwrap().resource_version().unwrap();
    for number in 0..3 {
        let name = format!("later-{number}");
        let map = serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
    }

    cluster.kill_apiserver();
    assert!(maps.get("kept").await.is_err());
    cluster.compact_etcd().unwrap();
    cluster.restart_apiserver().await.unwrap();

    assert!(maps.get("kept").await.is_ok());
    let told = match maps.watch(&WatchParams::default(), &version).await {
        Ok(events) => Box::pin(events).next().await.unwrap(),
        Err(error) => Err(error),
    };
    match told {
        Ok(WatchEvent::Error(status)) => assert_eq!(status.code, 410),
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 410),
        other => panic!("{other:?}"),
    }
}

fn network_exists(name: &str) -> bool {
    let shown = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8(shown.stdout).unwrap().lines().any(|line| line.split(' ').next() == Some(name))
}
