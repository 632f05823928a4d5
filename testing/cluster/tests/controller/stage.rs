//! A cluster with the controller in it, and what tests do and wait for there.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use kube::{
    Api, Client,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
    runtime::wait::await_condition,
};
use portcullis_cluster_testing::{Bundle, Cluster, Options, controller, is_possible};
use serde_json::Value;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::timeout,
};

/// How long anything may take that is not measured.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The name under which the controller runs.
pub(crate) const CONTROLLER: &str = "portcullis";

pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) program: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    /// Tests take turns: they measure, and each needs the whole machine.
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    /// A cluster with the CRDs that are implemented, and the controller; none where clusters are impossible.
    pub(crate) async fn start(name: &str) -> Option<Self> {
        let mut stage = Self::prepare(name, Some(Bundle::default())).await?;
        stage.start_controller();
        stage.cluster.await_class(CONTROLLER).await.unwrap();
        Some(stage)
    }

    /// The cluster alone, and what the controller needs there.
    pub(crate) async fn prepare(name: &str, bundle: Option<Bundle>) -> Option<Self> {
        static TURN: Mutex<()> = Mutex::const_new(());
        if !is_possible() {
            return None;
        }
        let turn = TURN.lock().await;
        let program = controller::program().unwrap();
        let name = format!("{name}-{}", std::process::id());
        let cluster = Cluster::start(Options { name, bundle }).await.unwrap();
        let client = cluster.client().await.unwrap();
        let kubeconfig = cluster.install_controller().unwrap();
        Some(Self { cluster, client, program, kubeconfig, _turn: turn })
    }

    pub(crate) fn start_controller(&mut self) {
        self.cluster.start_controller(CONTROLLER, &self.program, &self.kubeconfig).unwrap();
    }

    /// Has kubectl do something.
    pub(crate) fn kubectl(&self, arguments: &[&str]) {
        assert!(self.cluster.kubectl().args(arguments).status().unwrap().success(), "{arguments:?}");
    }

    /// Starts a controller beside the first one.
    pub(crate) fn start_standby(&mut self, name: &str) {
        let mut command = self.cluster.controller_command(name, &self.program, &self.kubeconfig);
        self.cluster.run(name, command.args(["--admin", "off"])).unwrap();
    }

    /// Objects of the Gateway API in one of its versions, in this namespace, or of the cluster.
    pub(crate) fn objects(&self, version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("gateway.networking.k8s.io", version, kind);
        let resource = ApiResource::from_gvk(&kind);
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            _ => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    /// The object, once its status is as awaited.
    pub(crate) async fn when(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        what: &str,
        awaited: impl Fn(&Value) -> bool,
    ) -> DynamicObject {
        let objects = self.objects("v1", kind, namespace);
        let is_awaited =
            |object: Option<&DynamicObject>| object.is_some_and(|object| awaited(status(object)));
        match timeout(PATIENCE, await_condition(objects.clone(), name, is_awaited)).await {
            Ok(object) => object.unwrap().unwrap(),
            Err(_) => {
                let status = objects.get(name).await.unwrap().data.get("status").cloned();
                panic!("{name} is not {what}: {status:#?}\n{}", self.log_end(CONTROLLER));
            }
        }
    }

    /// Waits until a Gateway is programmed; returns its first address.
    pub(crate) async fn address(&self, namespace: &str, gateway: &str) -> String {
        let programmed = |status: &Value| verdict(status, "Programmed") == Some("True");
        let gateway = self.when("Gateway", namespace, gateway, "programmed", programmed).await;
        status(&gateway)["addresses"][0]["value"].as_str().unwrap().to_owned()
    }

    /// Waits until each parent has accepted a route in its present generation.
    pub(crate) async fn accepted(&self, namespace: &str, route: &str) -> DynamicObject {
        self.when("HTTPRoute", namespace, route, "accepted", is_accepted).await
    }

    /// What a program has logged.
    pub(crate) fn log(&self, program: &str) -> String {
        std::fs::read_to_string(self.cluster.log(program).unwrap()).unwrap()
    }

    fn log_end(&self, program: &str) -> String {
        let log = self.log(program);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

/// An object's status.
pub(crate) fn status(object: &DynamicObject) -> &Value {
    object.data.get("status").unwrap_or(&Value::Null)
}

/// The status of a condition.
pub(crate) fn verdict<'a>(holder: &'a Value, condition: &str) -> Option<&'a str> {
    self::condition(holder, condition)?["status"].as_str()
}

/// A condition.
pub(crate) fn condition<'a>(holder: &'a Value, wanted: &str) -> Option<&'a Value> {
    holder.get("conditions")?.as_array()?.iter().find(|condition| condition["type"] == wanted)
}

/// The entry of a route's parents that is ours.
pub(crate) fn our_parent(status: &Value) -> Option<&Value> {
    let parents = status.get("parents")?.as_array()?;
    parents.iter().find(|parent| parent["controllerName"] == "portcullis.dev/gateway-controller")
}

/// Whether our parent has accepted a route.
pub(crate) fn is_accepted(status: &Value) -> bool {
    our_parent(status).and_then(|parent| verdict(parent, "Accepted")) == Some("True")
}

/// Waits until something that gives no notice is so.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
