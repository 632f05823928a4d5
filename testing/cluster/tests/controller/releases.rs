//! Releases of the Gateway API that a cluster may have, and kinds that it may lack.

use portcullis_cluster_testing::{Bundle, Channel};
use serde_json::Value;

use crate::{
    client::get,
    site::{LISTENER_SET, SITE, route},
    stage::{CONTROLLER, Stage, eventually, verdict},
};

/// The newest of each release that is known, on the standard channel.
const RELEASES: [&str; 4] = ["v1.4.1", "v1.5.1", "v1.6.3", "v1.7.0"];

/// The kinds without which there is nothing to do.
const NEEDED: [&str; 3] = ["gatewayclasses", "gateways", "httproutes"];

fn standard(version: &str) -> Bundle {
    Bundle { version: version.to_owned(), channel: Channel::Standard, safe_upgrades: false }
}

/// The controller starts with the CRDs of each release, and with the least that there can be, does what can be done
/// there, and takes up what comes later.
#[tokio::test(flavor = "multi_thread")]
async fn it_starts_with_any_release_and_without_any_optional_kind() {
    let Some(mut stage) = Stage::prepare("releases", Some(standard(RELEASES[0]))).await else { return };
    stage.start_controller();
    stage.cluster.await_class(CONTROLLER).await.unwrap();
    let address = stage.serve_site().await;
    for version in &RELEASES[1..] {
        stage.cluster.install(&standard(version)).unwrap();
        start_again(&mut stage, &address, &version.replace('.', "-")).await;
    }
    for definition in definitions(&stage) {
        let kind = definition.split('.').next().unwrap_or_default();
        if !NEEDED.contains(&kind) {
            stage.kubectl(&["delete", "crd", &definition]);
        }
    }
    start_again(&mut stage, &address, "the-least").await;
    stage.cluster.install(&standard(RELEASES[3])).unwrap();
    stage.cluster.apply(LISTENER_SET).unwrap();
    let accepted = |status: &Value| verdict(status, "Accepted") == Some("True");
    stage.when("ListenerSet", SITE, "more", "accepted, though its kind came last", accepted).await;
}

/// A controller that starts now serves a route that it has not seen before, and says so.
async fn start_again(stage: &mut Stage, address: &str, name: &str) {
    assert!(stage.cluster.terminate(CONTROLLER), "{name}: it has ended by itself");
    stage.start_controller();
    let host = format!("{name}.example");
    stage.cluster.apply(&route(name, &host)).unwrap();
    stage.accepted(SITE, name).await;
    eventually(&format!("{host} is served"), async || {
        get(address, &host, "/").await.ok().filter(|(status, _)| *status == 200)
    })
    .await;
}

/// The Gateway API's CRDs that are there.
fn definitions(stage: &Stage) -> Vec<String> {
    let listed = stage.cluster.kubectl().args(["get", "crd", "--output=name"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed.lines().filter_map(|line| line.split('/').nth(1));
    names.filter(|name| name.ends_with(".gateway.networking.k8s.io")).map(str::to_owned).collect()
}
