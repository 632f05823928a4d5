//! The official conformance suite against the controller, in a cluster of its own.

mod builds;
mod output;

use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use tokio::signal::unix::{SignalKind, signal};

use crate::{Cluster, Error, Options};

pub(crate) use builds::echo_basic;

/// The class that is judged.
const CLASS: &str = "portcullis";

/// The classes' controller, which is the native engine's.
const CONTROLLER: &str = "portcullis.dev/gateway-controller";

/// What is judged.
const PROFILES: &str = "GATEWAY-HTTP";

/// How many tests run at once, of those that may.
const PARALLEL: u8 = 8;

/// Documentation addresses (RFC 5737) are nobody's: no Gateway can have this one.
const UNUSABLE_ADDRESS: &str = "198.51.100.1";

/// How a run ended.
#[derive(Debug)]
pub struct Judgement {
    /// Whether every test passed.
    pub passed: bool,
    /// What the suite printed, test by test.
    pub log: PathBuf,
    /// The report; none of a run of one test.
    pub report: Option<PathBuf>,
}

/// Starts a cluster, the release build of the controller in it, and the suite or one test of it; waits for
/// the end. The files are in `target/conformance`.
///
/// # Errors
/// When the suite could not be run. That a test failed is no error.
pub async fn run(test: Option<&str>) -> Result<Judgement, Error> {
    let folder = builds::folder()?;
    let suite = builds::suite()?;
    let controller = builds::controller()?;
    // An interrupt ends the suite and then, in order, what was started for it; not us before it.
    let _interrupts = signal(SignalKind::interrupt()).map_err(Error::file("SIGINT"))?;
    let mut cluster =
        Cluster::start(Options { name: "conformance".to_owned(), ..Options::default() }).await?;
    start_controller(&mut cluster, &controller, &folder)?;
    cluster.apply(&gateway_class())?;
    // The suite reads the features that the class claims before it waits for anything.
    cluster.wait(&["gatewayclass", CLASS], "condition=Accepted")?;
    let log = folder.join("suite.log");
    let report = test.is_none().then(|| folder.join("native-report.yaml"));
    let mut command = cluster.command(suite);
    command.current_dir(&folder).args(common_flags(&cluster));
    match (test, &report) {
        (Some(test), _) => command.arg(format!("-run-test={test}")),
        (None, Some(report)) => command.args(report_flags(report)),
        (None, None) => &mut command,
    };
    Ok(Judgement { passed: output::tee(&mut command, &log)?, log, report })
}

fn start_controller(cluster: &mut Cluster, program: &Path, folder: &Path) -> Result<(), Error> {
    let mut command = cluster.command(program);
    command.arg("controller").arg("--kubeconfig").arg(cluster.kubeconfig());
    command.args(["--address-pool", &cluster.network().gateway_addresses().to_string()]);
    cluster.run_alongside("portcullis", &mut command, folder.join("controller.log"))
}

fn gateway_class() -> String {
    serde_json::json!({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": CLASS},
        "spec": {"controllerName": CONTROLLER},
    })
    .to_string()
}

fn common_flags(cluster: &Cluster) -> Vec<String> {
    let addresses = cluster.network().gateway_addresses();
    // Far from where allotting begins.
    let usable = Ipv4Addr::from_bits(addresses.broadcast().to_bits() - 55);
    vec![
        "-test.v".to_owned(),
        "-test.timeout=90m".to_owned(),
        format!("-test.parallel={PARALLEL}"),
        format!("-gateway-class={CLASS}"),
        format!("-conformance-profiles={PROFILES}"),
        format!("-usable-address={usable}"),
        format!("-unusable-address={UNUSABLE_ADDRESS}"),
    ]
}

fn report_flags(report: &Path) -> Vec<String> {
    vec![
        format!("-report-output={}", report.display()),
        "-organization=portcullis".to_owned(),
        "-project=portcullis".to_owned(),
        "-url=https://portcullis.dev".to_owned(),
        concat!("-version=v", env!("CARGO_PKG_VERSION")).to_owned(),
        "-contact=https://portcullis.dev".to_owned(),
    ]
}
