//! The node does for pods what a kubelet does: one cluster, a namespace for each subject.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "node/containers.rs"]
mod containers;
#[path = "node/ending.rs"]
mod ending;
#[path = "node/many.rs"]
mod many;
#[path = "node/outages.rs"]
mod outages;
#[path = "node/probes.rs"]
mod probes;
#[path = "node/space.rs"]
mod space;
#[path = "node/volumes.rs"]
mod volumes;

use portcullis_cluster_testing::{Cluster, Options, is_possible};
use space::Space;

#[tokio::test]
async fn pods_are_run_as_a_kubelet_runs_them() {
    if !is_possible() {
        return;
    }
    let options = Options { name: format!("node-{}", std::process::id()), bundle: None };
    let mut cluster = Cluster::start(options).await.unwrap();
    // First and alone, since it is measured.
    many::forty_pods_are_ready_and_gone_in_time(&Space::new(&cluster, "many").await).await;
    tokio::join!(
        async {
            volumes::a_pod_waits_for_its_secret_alone_and_follows_it(&Space::new(&cluster, "late").await)
                .await;
        },
        async { volumes::every_kind_of_volume_is_there(&Space::new(&cluster, "volumes").await).await },
        async { probes::probes_decide_readiness_and_restarts(&Space::new(&cluster, "probes").await).await },
        async { containers::environment_and_arguments(&Space::new(&cluster, "environment").await).await },
        async { containers::init_containers_come_first(&Space::new(&cluster, "init").await).await },
        async { containers::the_restart_policy_is_kept(&Space::new(&cluster, "restarts").await).await },
        async {
            ending::a_pod_ends_with_its_process_or_its_grace(&Space::new(&cluster, "ending").await).await;
        },
    );
    outages::pods_run_on_while_the_api_server_is_away(&mut cluster).await;
    outages::nothing_of_a_pod_outlives_a_node_that_crashes(&mut cluster).await;
}
