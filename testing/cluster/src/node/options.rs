//! The node's command line.

use std::path::PathBuf;

use clap::Parser;
use ipnet::Ipv4Net;

/// A node that runs pods as processes of this machine. It needs root, and is to be started in the
/// network namespace of its cluster.
#[derive(Clone, Debug, Parser)]
#[command(name = "portcullis-test-node")]
pub struct Options {
    /// How to reach the API server.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: PathBuf,
    /// The Node's name.
    #[arg(long, value_name = "NODE")]
    pub name: String,
    /// The bridge that joins the pods; its address is the node's.
    #[arg(long, value_name = "BRIDGE")]
    pub bridge: String,
    /// The pods' addresses; the bridge has one of them.
    #[arg(long, value_name = "CIDR", default_value = "10.244.0.0/16")]
    pub pod_cidr: Ipv4Net,
    /// Where the pods' volumes and layers are kept; only this node may use it.
    #[arg(long, value_name = "FOLDER")]
    pub state: PathBuf,
    /// What stands for images: a YAML or JSON table from image names, in which `*` stands for any
    /// text, to {command: […], args: […], env: {…}}. The first that fits decides.
    #[arg(long, value_name = "FILE")]
    pub images: PathBuf,
}
