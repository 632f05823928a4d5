//! Where the cluster is, as every command that reads one is told.

use std::path::PathBuf;

use clap::Args;
use portcullis_cluster::{Access, Client, connect};

use crate::exit::Failure;

/// The cluster to read.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct AccessOptions {
    /// The kubeconfig of the cluster (default with --context: as kubectl)
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig (default: its current one)
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl AccessOptions {
    /// Whether a cluster is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// A client of the API server; of the pod's own where nothing is given.
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        let access = Access { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        connect(&access).await.map_err(|error| {
            let failure = Failure::new(error.to_string());
            match self.is_given() {
                true => failure.hint("`kubectl config get-contexts` lists what a kubeconfig has"),
                false => failure.hint("outside of a pod, name the cluster with --kubeconfig or --context"),
            }
        })
    }
}
