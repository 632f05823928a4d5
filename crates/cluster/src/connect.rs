//! A client of the API server: from a kubeconfig, or from inside a pod.

use std::path::PathBuf;

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

/// Where the API server is and who we are there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The kubeconfig file; none with a context: the usual places (`$KUBECONFIG`, `~/.kube/config`).
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; none: its current one.
    pub context: Option<String>,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read, or lacks what was asked for.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// Not in a pod, or its ServiceAccount is not mounted.
    #[error("not in a pod, and no kubeconfig was given: {0}")]
    InCluster(#[from] kube::config::InClusterError),
    /// The configuration makes no client: certificates that cannot be read, for example.
    #[error("cannot make a client of the API server: {0}")]
    Client(#[from] kube::Error),
}

/// Makes a client. Nothing is asked of the API server yet.
///
/// # Errors
/// When the kubeconfig or the pod's ServiceAccount cannot be read or used.
pub async fn connect(access: &Access) -> Result<Client, ConnectError> {
    let options = KubeConfigOptions { context: access.context.clone(), ..KubeConfigOptions::default() };
    let config = match (&access.kubeconfig, &access.context) {
        (None, None) => Config::incluster()?,
        (Some(path), _) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
        (None, Some(_)) => Config::from_custom_kubeconfig(Kubeconfig::read()?, &options).await?,
    };
    Ok(Client::try_from(config)?)
}
