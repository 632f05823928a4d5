//! The official conformance suite against the controller, in a cluster of its own.

mod builds;
mod output;

use std::{
    collections::BTreeSet,
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use tokio::signal::unix::{SignalKind, signal};

use crate::{
    Cluster, Error, Options,
    controller::{self, CLASS},
    rights::{self, Right},
};

pub(crate) use builds::echo_basic;

/// The program that is judged.
const CONTROLLER: &str = "portcullis";

/// What is judged.
const PROFILES: &str = "GATEWAY-HTTP,GATEWAY-GRPC,GATEWAY-TLS,GATEWAY-TCP,GATEWAY-UDP";

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
    /// What the controller printed.
    pub controller_log: PathBuf,
    /// The report; none of a run of one test.
    pub report: Option<PathBuf>,
    /// Rights of the controller that it did not use, though a run of the whole suite gives occasion to.
    pub unused: BTreeSet<Right>,
}

/// Starts a cluster, the release build of the controller in it, and the suite or one test of it; waits for
/// the end. The files are in `target/conformance`; beside those of the
/// [`Judgement`] `audit.log`, what the controller asked of the API server.
///
/// # Errors
/// When the suite could not be run. That a test failed is no error.
pub async fn run(test: Option<&str>) -> Result<Judgement, Error> {
    let folder = builds::folder()?;
    let suite = builds::suite()?;
    let controller = controller::program()?;
    // An interrupt ends the suite and then, in order, what was started for it; not us before it.
    let _interrupts = signal(SignalKind::interrupt()).map_err(Error::file("SIGINT"))?;
    let name = format!("conformance-{}", std::process::id());
    let mut cluster = Cluster::start(Options { name, ..Options::default() }).await?;
    let kubeconfig = cluster.install_controller()?;
    cluster.start_controller(CONTROLLER, &controller, &kubeconfig)?;
    // The suite reads the features that the class claims before it waits for anything.
    cluster.await_class(CONTROLLER).await?;
    let log = folder.join("suite.log");
    let report = test.is_none().then(|| folder.join("native-report.yaml"));
    let mut command = cluster.command(suite);
    command.current_dir(&folder).args(common_flags(&cluster));
    match (test, &report) {
        (Some(test), _) => command.arg(format!("-run-test={test}")),
        (None, Some(report)) => command.args(report_flags(report)),
        (None, None) => &mut command,
    };
    let passed = output::tee(&mut command, &log)?;
    let controller_log = folder.join("controller.log");
    keep(&cluster, CONTROLLER, &controller_log)?;
    let audit = folder.join("audit.log");
    keep(&cluster, "audit", &audit)?;
    let mut unused = if test.is_none() { rights::unused(&audit)? } else { BTreeSet::new() };
    unused.retain(|right| !is_beyond_the_suite(right));
    Ok(Judgement { passed, log, controller_log, report, unused })
}

/// Whether the suite gives no certain occasion to use a right. `tests/controller/verbs.rs` uses every one.
fn is_beyond_the_suite(right: &Right) -> bool {
    let Right { verb, group, resource } = right;
    match &**verb {
        // API servers without streamed lists, and what is read because a watch may be late.
        "list" | "get" => true,
        // Its kinds are not installed.
        "watch" => group == "gateway.envoyproxy.io",
        // What the profiles have no objects of.
        "update" => BEYOND_PROFILES.contains(&&**resource),
        _ => false,
    }
}

const BEYOND_PROFILES: [&str; 5] = [
    "backendtlspolicies/status",
    "grpcroutes/status",
    "tcproutes/status",
    "tlsroutes/status",
    "udproutes/status",
];

/// Copies what goes with the cluster.
fn keep(cluster: &Cluster, log: &str, path: &Path) -> Result<(), Error> {
    let Some(kept) = cluster.log(log) else { return Ok(()) };
    fs::copy(kept, path).map(drop).map_err(Error::file(path))
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
