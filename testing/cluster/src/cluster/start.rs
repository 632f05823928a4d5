//! Starting a cluster, one component after the other.

use std::{
    fmt::Debug,
    fs,
    net::SocketAddrV4,
    path::{Path, PathBuf},
    time::Duration,
};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client, Resource, runtime::wait::await_condition};
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use super::{Cluster, Options, make_folder};
use crate::{
    Error, certificates, conformance, control_plane, kubeconfig, network::BRIDGE, node_program, privileges,
    processes::ProcessId, state,
};

const ETCD: &str = "etcd";
pub(super) const API_SERVER: &str = "kube-apiserver";
const CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// The node's name.
pub(crate) const NODE: &str = "node";

/// How long a component may take to be ready; on an idle machine none takes more than 5 s.
const READY: Duration = Duration::from_secs(120);

/// How often a component is asked whether it is ready.
const ASK: Duration = Duration::from_millis(50);

/// What is written to the log `audit`: every request of a ServiceAccount, and whether it was allowed, so that
/// rights and their use can be compared.
const AUDIT: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ['system:serviceaccounts']}
- {level: None}
";

impl Cluster {
    /// Starts a cluster and returns once its node takes pods. What is not built yet is built.
    ///
    /// # Errors
    /// When the machine does not let us, a cluster of this name runs, or a component does not get ready.
    pub async fn start(options: Options) -> Result<Self, Error> {
        privileges::require()?;
        let program = control_plane::program()?;
        let node = node_program::build()?;
        let images = images(&conformance::echo_basic()?);
        let record = state::claim(&options.name, ProcessId::own())?;
        let mut cluster = Self {
            folder: state::folder(&options.name),
            network: record.network(),
            name: options.name,
            program,
            components: Vec::new(),
            ends_with_us: true,
        };
        cluster.write_files(&images)?;
        cluster.start_part(ETCD, control_plane::etcd(&cluster.folder))?;
        cluster.start_apiserver(&[]).await?;
        if let Some(bundle) = &options.bundle {
            cluster.install(bundle)?;
        }
        cluster.start_part(CONTROLLER_MANAGER, control_plane::controller_manager(&cluster.folder))?;
        cluster.start_node(&node)?;
        cluster.await_pods().await?;
        Ok(cluster)
    }

    fn write_files(&self, images: &str) -> Result<(), Error> {
        make_folder(&self.folder, "logs")?;
        certificates::write(&self.folder, self.network)?;
        let token = certificates::token()?;
        let save = |name: &str, text: &str| {
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(Error::file(&path))
        };
        save("tokens.csv", &format!("{token},admin,admin,system:masters\n"))?;
        save("audit.yaml", AUDIT)?;
        save("images.yaml", images)?;
        let server = SocketAddrV4::new(self.network.address(), control_plane::API_PORT);
        kubeconfig::write(&self.kubeconfig(), server, &self.folder.join("ca.crt"), &token)
    }

    /// Starts kube-apiserver, with more arguments than its usual ones, and waits until it is ready.
    pub(super) async fn start_apiserver(&mut self, more: &[&str]) -> Result<(), Error> {
        let mut arguments = control_plane::apiserver(&self.folder, self.network);
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        self.start_part(API_SERVER, arguments)?;
        let client = self.client().await?;
        self.ready(API_SERVER, async {
            while !is_ready(&client).await {
                sleep(ASK).await;
            }
        })
        .await
    }

    fn start_node(&mut self, node: &Path) -> Result<(), Error> {
        let mut command = self.network.command(node);
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(["--name", NODE, "--bridge", BRIDGE]);
        command.args(["--pod-cidr", &self.network.pods().to_string()]);
        command.arg("--state").arg(make_folder(&self.folder, NODE)?);
        command.arg("--images").arg(self.folder.join("images.yaml"));
        self.run(NODE, &mut command)
    }

    /// Waits until a pod could be made and would be run.
    async fn await_pods(&self) -> Result<(), Error> {
        let client = self.client().await?;
        let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
        self.ready(CONTROLLER_MANAGER, until(accounts, "default", |account| account.is_some())).await?;
        self.ready(NODE, until(Api::all(client), NODE, is_node_ready)).await
    }

    /// Starts a part of the control plane.
    fn start_part(&mut self, name: &str, arguments: Vec<String>) -> Result<(), Error> {
        let mut command = self.network.command(&self.program);
        self.run(name, command.args(arguments))
    }

    /// Waits for what shows that a component is ready, as long as it runs.
    pub(crate) async fn ready(&self, name: &str, shown: impl Future<Output = ()>) -> Result<(), Error> {
        let Some(component) = self.components.iter().find(|component| component.name == name) else {
            return Ok(());
        };
        let ended = async {
            while component.id.is_alive() {
                sleep(ASK).await;
            }
        };
        let first = async {
            tokio::select! {
                () = shown => Ok(()),
                () = ended => Err(component.unready("ended")),
            }
        };
        timeout(READY, first).await.unwrap_or_else(|_| Err(component.unready("did not get ready")))
    }
}

/// Waits until an object is as it should be.
pub(crate) async fn until<K>(objects: Api<K>, name: &str, is_so: fn(Option<&K>) -> bool)
where
    K: Clone + Debug + Send + DeserializeOwned + Resource + 'static,
{
    // A watch that could not be begun is tried again.
    while await_condition(objects.clone(), name, is_so).await.is_err() {
        sleep(ASK).await;
    }
}

async fn is_ready(client: &Client) -> bool {
    let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else { return false };
    client.request_text(request).await.is_ok()
}

fn is_node_ready(node: Option<&Node>) -> bool {
    let conditions = node.and_then(|node| node.status.as_ref()?.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Which programs stand for which images. That of `portcullis` need not be built yet.
fn images(echo_basic: &Path) -> String {
    let portcullis: PathBuf = node_program::target_folder().join("release/portcullis");
    serde_json::json!({
        "*/echo-basic:*": {"command": [echo_basic]},
        "*portcullis:*": {"command": [portcullis]},
    })
    .to_string()
}
