//! What is measured in a cluster: Portcullis as its controller, a Gateway, and as many routes as wanted, each with
//! a Service and endpoints of its own.
//!
//! [`propagation`] is the time from the API server's acknowledgement to the first right answer, [`settling`] the
//! time to the statuses of many changed routes, [`secrets`] the memory that other people's Secrets cost.

mod backend;
mod objects;
mod probe;
pub mod propagation;
pub mod secrets;
pub mod settling;

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    path::PathBuf,
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Api,
    api::{DynamicObject, PostParams},
};
use serde_json::Value;

use crate::{Cluster, Error, Options, controller};
use objects::Kind;

/// The controller's name among the cluster's programs.
const CONTROLLER: &str = "portcullis";

/// How many requests of ours to the API server are under way at once.
const AT_ONCE: usize = 16;

/// How long the cluster may take until all is served that was made; seconds on an idle machine.
const READY: Duration = Duration::from_secs(180);

/// A cluster with a controller and what it serves.
#[derive(Debug)]
pub struct Stage {
    cluster: Cluster,
    /// The controller's.
    program: PathBuf,
    /// The controller's too.
    kubeconfig: PathBuf,
    /// Where the Gateway is.
    address: SocketAddrV4,
    /// Two backends, which answer with their position.
    backends: [SocketAddrV4; 2],
}

impl Stage {
    /// Starts it all, with so many routes; waits until the Gateway is programmed. `program` is the controller's, or
    /// the release build.
    ///
    /// # Errors
    /// When the cluster does not start or what is made is not served.
    pub async fn set(name: &str, program: Option<PathBuf>, routes: usize) -> Result<Self, Error> {
        let program = program.map_or_else(controller::program, Ok)?;
        let mut cluster = Cluster::start(Options { name: name.to_owned(), ..Options::default() }).await?;
        let kubeconfig = cluster.install_controller()?;
        cluster.start_controller(CONTROLLER, &program, &kubeconfig)?;
        cluster.await_class(CONTROLLER).await?;
        let machine = cluster.network().machine_address();
        let backends = [backend::serve(machine, b'0')?, backend::serve(machine, b'1')?];
        let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 80);
        let mut stage = Self { cluster, program, kubeconfig, address, backends };
        stage.create(Kind::Gateway, [objects::gateway()]).await?;
        stage.cluster.wait(&["gateway", objects::GATEWAY], "condition=Programmed")?;
        stage.address.set_ip(stage.gateway_address().await?);
        let names: Vec<String> = (0..routes).map(objects::name).collect();
        let [backend, _] = stage.backends;
        stage.create(Kind::Service, names.iter().map(|name| objects::service(name))).await?;
        stage.create(Kind::EndpointSlice, names.iter().map(|name| objects::endpoints(name, backend))).await?;
        stage.create(Kind::HttpRoute, names.iter().map(|name| objects::route(name, name))).await?;
        settling::all_settled(&stage, READY).await?;
        Ok(stage)
    }

    async fn gateway_address(&self) -> Result<Ipv4Addr, Error> {
        let gateway = self.api(Kind::Gateway).await?.get(objects::GATEWAY).await?;
        let address = gateway.data.pointer("/status/addresses/0/value").and_then(Value::as_str);
        address
            .and_then(|address| address.parse().ok())
            .ok_or_else(|| Error::Measurement(format!("{gateway:?}")))
    }

    async fn api(&self, kind: Kind) -> Result<Api<DynamicObject>, Error> {
        Ok(Api::default_namespaced_with(self.cluster.client().await?, &kind.resource()))
    }

    async fn create(&self, kind: Kind, objects: impl IntoIterator<Item = Value>) -> Result<(), Error> {
        let (api, how) = (self.api(kind).await?, PostParams::default());
        stream::iter(objects)
            .map(|object| async {
                api.create(&how, &kind.object(object)?).await.map(drop).map_err(Error::from)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }
}
