//! Portcullis as the controller of a cluster: with the rights that `deploy/` gives it, and no others.

use std::{
    env,
    net::SocketAddrV4,
    path::{Path, PathBuf},
    process::Command,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{
    Api,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use serde::Deserialize;

use crate::{
    Cluster, Error,
    cluster::start::{NODE, until},
    control_plane, kubeconfig, node_program, programs,
};

/// The class of `deploy/gateway-class.yaml`.
pub const CLASS: &str = "portcullis";

/// The namespace and the ServiceAccount of `deploy/controller.yaml`.
const ACCOUNT: &str = "portcullis";

impl Cluster {
    /// Installs what `deploy/` holds beside the Deployment: namespace, ServiceAccount, rights, class. Returns a
    /// kubeconfig of the ServiceAccount, good for a day.
    ///
    /// # Errors
    /// When the API server refuses something.
    pub fn install_controller(&self) -> Result<PathBuf, Error> {
        let mut apply = self.kubectl();
        // Of all these, the Deployment alone carries the label.
        apply.args(["apply", "--server-side", "--selector=!app.kubernetes.io/name", "--filename"]);
        programs::output(apply.arg(node_program::root().join("deploy")))?;
        let mut create = self.kubectl();
        create.args(["create", "token", ACCOUNT, "--namespace", ACCOUNT, "--duration=24h"]);
        let token = programs::output(&mut create)?;
        let path = self.folder().join("controller.kubeconfig");
        let server = SocketAddrV4::new(self.network().address(), control_plane::API_PORT);
        kubeconfig::write(&path, server, &self.folder().join("ca.crt"), token.trim())?;
        Ok(path)
    }

    /// Starts `portcullis controller` in the cluster's network, as the program of this name, with a kubeconfig of
    /// [`Self::install_controller`]'s and the cluster's Gateway addresses.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_controller(&mut self, name: &str, program: &Path, kubeconfig: &Path) -> Result<(), Error> {
        let mut command = self.controller_command(name, program, kubeconfig);
        self.run(name, &mut command)
    }

    /// What [`Self::start_controller`] starts, for who has options to add.
    #[must_use]
    pub fn controller_command(&self, name: &str, program: &Path, kubeconfig: &Path) -> Command {
        let mut command = self.network().command(program);
        command.arg("controller").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--address-pool", &self.network().gateway_addresses().to_string()]);
        command.args(["--node", NODE]);
        // What its pod would be told; leases are held under these names.
        command.env("POD_NAMESPACE", ACCOUNT).env("POD_NAME", name);
        command
    }

    /// Waits until a controller that was started under this name has accepted the class.
    ///
    /// # Errors
    /// When it ends instead, or takes too long.
    pub async fn await_class(&self, name: &str) -> Result<(), Error> {
        let kind = GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "GatewayClass");
        let resource = ApiResource::from_gvk_with_plural(&kind, "gatewayclasses");
        let classes: Api<DynamicObject> = Api::all_with(self.client().await?, &resource);
        self.ready(name, until(classes, CLASS, is_accepted)).await
    }
}

/// The build of Portcullis that `PORTCULLIS_PROGRAM` names, for who works on it and cannot wait for a release build
/// each time; else the release build.
///
/// # Errors
/// When it does not build.
pub fn program() -> Result<PathBuf, Error> {
    if let Some(program) = env::var_os("PORTCULLIS_PROGRAM") {
        return Ok(program.into());
    }
    let mut command = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(["build", "--quiet", "--locked", "--release", "--package", "portcullis"]);
    programs::output(command.current_dir(node_program::root()))?;
    Ok(node_program::target_folder().join("release/portcullis"))
}

fn is_accepted(class: Option<&DynamicObject>) -> bool {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        conditions: Vec<Condition>,
    }
    let status = class.and_then(|class| class.data.get("status")).map(Status::deserialize);
    let conditions = status.and_then(Result::ok).map(|status| status.conditions).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Accepted" && condition.status == "True")
}
