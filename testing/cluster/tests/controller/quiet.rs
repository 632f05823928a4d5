//! Nothing is written that says what is said already.

use std::time::Duration;

use crate::{
    audit::Audit,
    site::{SITE, route},
    stage::{CONTROLLER, Stage, eventually},
};

/// How long nothing may be written.
const IDLE: Duration = Duration::from_secs(60);

/// In a cluster where nothing happens nothing is written, nor by a controller that was started again; of what is
/// changed then it says what it has to.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_cluster_and_a_new_controller_mean_no_write() {
    let Some(mut stage) = Stage::start("quiet").await else { return };
    stage.serve_site().await;
    let mut audit = Audit::default();
    // What has been said is all told, and the Service of the Gateway is written.
    eventually("the Gateway has its Service", async || {
        audit
            .news(&stage.cluster)
            .into_iter()
            .find(|asked| asked.resource == "endpointslices" && asked.verb == "patch")
    })
    .await;
    tokio::time::sleep(IDLE).await;
    assert_eq!(audit.writes(&stage.cluster), [], "in an idle cluster");

    assert!(stage.cluster.terminate(CONTROLLER));
    stage.start_controller();
    // A change made now is the first that it writes of.
    stage.cluster.apply(&route("later", "later.example")).unwrap();
    stage.accepted(SITE, "later").await;
    stage.attached(2).await;
    let written = audit.writes(&stage.cluster);
    let mut written: Vec<String> =
        written.into_iter().map(|asked| format!("{} {}", asked.resource, asked.name)).collect();
    written.sort();
    assert_eq!(written, ["gateways/status web", "httproutes/status later"]);
}
