//! A node that runs pods as processes of this machine, in namespaces of their own, and does towards the
//! API server what a kubelet does.
//!
//! What it does not do: it pulls no images (a table says which program stands for which), limits no
//! resources, resolves no cluster names, and ignores users and security contexts: everything runs as root.
//!
//! Read in this order: [`registration`] (the Node object), [`pods`] (which pods run here), [`pod`] (the
//! life of one) with [`sources`] and [`volumes`] (what it takes from the API), [`sandbox`] and
//! [`network`] (its namespaces), [`container`] (runs and restarts) with [`launch`] (its process) and
//! [`probes`], [`status`] (what the API is told, computed from [`state`]), [`logs`] and [`server`] (what
//! `kubectl logs` shows).

mod container;
mod environment;
mod expansion;
mod fields;
mod images;
mod launch;
mod limits;
mod logs;
mod network;
mod options;
mod pod;
mod pods;
mod probes;
mod registration;
mod sandbox;
mod server;
mod sources;
mod state;
mod status;
mod tools;
mod volumes;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use self::{
    images::Images, launch::Mount, limits::RETRY, logs::Logs, network::Network, registration::Registration,
    server::Server,
};
pub use self::{images::ImagesError, options::Options, server::ServerError, tools::ToolError};

/// Why a node cannot work.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The kubeconfig does not say how to reach an API server.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// There is no client for what the kubeconfig says.
    #[error("client: {0}")]
    Client(#[from] kube::Error),
    /// There is no table of images.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// The bridge cannot be used.
    #[error(transparent)]
    Network(#[from] ToolError),
    /// The endpoint for logs cannot be opened.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The state folder, or something of the system, cannot be used.
    #[error("{what}: {cause}")]
    System {
        /// What cannot be used.
        what: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

/// What all pods of the node share.
pub(crate) struct Node {
    client: Client,
    name: String,
    network: Network,
    images: Images,
    /// Variables that tell programs where the API server is.
    service: BTreeMap<String, String>,
    host_mounts: Vec<Mount>,
    logs: Arc<Logs>,
    state: PathBuf,
}

impl Node {
    /// Where pods have their folders, by uid.
    pub(crate) fn pods_folder(&self) -> PathBuf {
        pods_folder(&self.state)
    }
}

fn pods_folder(state: &Path) -> PathBuf {
    state.join("pods")
}

/// Runs the node until it is asked to end (SIGTERM or SIGINT), and with it its pods' processes. The pods
/// stay on the API server, and run again under the next node of this name.
///
/// # Errors
/// When the node cannot start.
pub async fn run(options: Options) -> Result<(), NodeError> {
    let system = |what: &str| {
        let what = what.to_owned();
        move |cause| NodeError::System { what, cause }
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(system("SIGTERM"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(system("SIGINT"))?;
    let images = Images::read(&options.images)?;
    let kubeconfig = Kubeconfig::read_from(&options.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let service = service(&config.cluster_url);
    let client = Client::try_from(config)?;
    let network = Network::open(&options.bridge, options.pod_cidr).await?;
    let server = Server::bind(network.host).await?;
    clean(&options.state).map_err(system("state folder"))?;
    let registration = Registration {
        name: options.name.clone(),
        host: network.host,
        pods: options.pod_cidr,
        port: server.port().map_err(system("endpoint"))?,
    };
    let logs = Arc::new(Logs::default());
    let node = Arc::new(Node {
        client: client.clone(),
        name: options.name,
        network,
        images,
        service,
        host_mounts: launch::host_mounts().map_err(system("/proc/self/mountinfo"))?,
        logs: Arc::clone(&logs),
        state: options.state.clone(),
    });
    let work = async {
        register(&registration, &client).await;
        futures::join!(pods::run(node), registration.keep_alive(&client), server.serve(logs))
    };
    tokio::select! {
        _ = work => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    clean(&options.state).map_err(system("state folder"))
}

/// Registers the node as soon as the API server lets it.
async fn register(registration: &Registration, client: &Client) {
    while let Err(error) = registration.register(client).await {
        tracing::warn!(%error, "the node is not registered and will be tried again");
        sleep(RETRY).await;
    }
    tracing::info!(name = registration.name, address = %registration.host, "registered");
}

/// Removes what pods of a node before this one have left.
fn clean(state: &Path) -> io::Result<()> {
    match fs::remove_dir_all(pods_folder(state)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(state),
    }
}

/// The variables by which clients in pods find the API server. They name the address that the node
/// itself uses: nothing routes the address of the `kubernetes` Service.
fn service(api_server: &http::Uri) -> BTreeMap<String, String> {
    let port = api_server.port_u16().unwrap_or(443);
    BTreeMap::from([
        ("KUBERNETES_SERVICE_HOST".to_owned(), api_server.host().unwrap_or_default().to_owned()),
        ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_string()),
    ])
}
