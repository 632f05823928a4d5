//! `cargo xtask cluster`: a Kubernetes cluster on this machine, with a real control plane.

use std::{fs, process::ExitStatus};

use portcullis_cluster_testing::{Bundle, Channel, Cluster, Options as Wanted, state};

use crate::process::Failure;
use crate::tools::{self, CURL, GO, IP};

/// What to do with which cluster.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Starts a cluster, leaves it running, and says how to reach it.
    Up(Up),
    /// Removes a cluster, and what a crash has left of others.
    Down {
        #[command(flatten)]
        which: Which,
        /// Every cluster that was left running.
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Runs kubectl, of the control plane's version, as an administrator.
    Kubectl {
        #[command(flatten)]
        which: Which,
        /// What kubectl is told.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Shows what a component (etcd, kube-apiserver, kube-controller-manager, node) or a pod has printed.
    Logs {
        #[command(flatten)]
        which: Which,
        /// The component or the pod.
        subject: String,
        /// The pod's namespace.
        #[arg(short, long, default_value = "default")]
        namespace: String,
    },
}

#[derive(clap::Args)]
struct Which {
    /// The cluster.
    #[arg(long, default_value = "portcullis")]
    name: String,
}

#[derive(clap::Args)]
struct Up {
    #[command(flatten)]
    which: Which,
    /// Which of the Gateway API's CRDs to install.
    #[arg(long, value_enum, default_value_t)]
    channel: ChannelName,
    /// The Gateway API's release.
    #[arg(long, value_name = "VERSION", default_value = "v1.7.0")]
    gateway_api: String,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum ChannelName {
    Standard,
    #[default]
    Experimental,
}

/// Does it.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match &options.what {
        What::Up(up) => start(up),
        What::Down { which, all } => remove(&which.name, *all),
        What::Kubectl { which, arguments } => {
            let cluster = Cluster::attach(&which.name)?;
            finish(cluster.kubectl().args(arguments).status())
        }
        What::Logs { which, subject, namespace } => show(&which.name, subject, namespace),
    }
}

fn start(up: &Up) -> Result<(), Failure> {
    tools::need(&[CURL, GO, IP])?;
    let channel = match up.channel {
        ChannelName::Standard => Channel::Standard,
        ChannelName::Experimental => Channel::Experimental,
    };
    let bundle = Bundle { version: up.gateway_api.clone(), channel, ..Bundle::default() };
    let wanted = Wanted { name: up.which.name.clone(), bundle: Some(bundle) };
    let cluster = block_on(Cluster::start(wanted))??;
    let (kubeconfig, network) = (cluster.kubeconfig(), cluster.network());
    cluster.leave_running()?;
    println!("export KUBECONFIG={}", kubeconfig.display());
    println!("# network namespace {}, Gateway addresses {}", network.name(), network.gateway_addresses());
    Ok(())
}

fn remove(name: &str, all: bool) -> Result<(), Failure> {
    state::sweep()?;
    let names = if all { state::names()? } else { vec![name.to_owned()] };
    for name in names {
        state::remove(&name)?;
        println!("cluster {name} is removed");
    }
    Ok(())
}

fn show(name: &str, subject: &str, namespace: &str) -> Result<(), Failure> {
    let cluster = Cluster::attach(name)?;
    if let Some(log) = cluster.log(subject) {
        print!("{}", fs::read_to_string(&log).map_err(Failure::file(&log))?);
        return Ok(());
    }
    finish(cluster.kubectl().args(["logs", "--namespace", namespace, subject]).status())
}

/// Runs what waits for the cluster.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| Failure::Other(error.to_string()))?.block_on(work))
}

fn finish(ended: std::io::Result<ExitStatus>) -> Result<(), Failure> {
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Other(format!("kubectl: {status}"))),
        Err(error) => Err(Failure::Other(format!("kubectl: {error}"))),
    }
}
