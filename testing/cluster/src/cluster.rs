//! A running cluster.

mod disturbance;
pub(crate) mod start;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{
    Bundle, Error, control_plane,
    network::Network,
    processes::{Component, ProcessId},
    programs, state,
};

/// What cluster to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name, a folder's name.
    pub name: String,
    /// The CRDs that it begins with; none for a cluster without the Gateway API.
    pub bundle: Option<Bundle>,
}

impl Default for Options {
    /// Named after this process, with the CRDs of the release that is implemented.
    fn default() -> Self {
        Self { name: format!("process-{}", std::process::id()), bundle: Some(Bundle::default()) }
    }
}

/// A running cluster. It ends with this value, unless it is left running.
#[derive(Debug)]
pub struct Cluster {
    name: String,
    folder: PathBuf,
    network: Network,
    /// The program of the control plane.
    program: PathBuf,
    components: Vec<Component>,
    ends_with_us: bool,
}

impl Cluster {
    /// A cluster that was left running.
    ///
    /// # Errors
    /// When there is none of this name, or its programs cannot be found.
    pub fn attach(name: &str) -> Result<Self, Error> {
        let record = state::read(name).ok_or_else(|| Error::Absent(name.to_owned()))?;
        let folder = state::folder(name);
        let found = |(name, id): (String, _)| Component::found(name.clone(), id, log_file(&folder, &name));
        let network = record.network();
        Ok(Self {
            name: name.to_owned(),
            network,
            program: control_plane::program()?,
            components: record.processes.into_iter().map(found).collect(),
            ends_with_us: false,
            folder,
        })
    }

    /// Leaves the cluster running when this value, and this process, end.
    ///
    /// # Errors
    /// When that cannot be recorded.
    pub fn leave_running(mut self) -> Result<(), Error> {
        self.ends_with_us = false;
        self.record(None)
    }

    /// The kubeconfig of an administrator; it works on this machine, and in the cluster's network.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// A client with an administrator's rights.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub async fn client(&self) -> Result<Client, Error> {
        let refused = |error| Error::Kubeconfig(Box::new(error));
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).map_err(refused)?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(refused)?;
        Ok(Client::try_from(config)?)
    }

    /// A command of kubectl's, with an administrator's rights.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("kubectl").env("KUBECONFIG", self.kubeconfig());
        command
    }

    /// Applies manifests, YAML or JSON, as `kubectl apply --server-side` does.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn apply(&self, manifests: &str) -> Result<(), Error> {
        let mut command = self.kubectl();
        programs::feed(command.args(["apply", "--server-side", "--force-conflicts", "-f", "-"]), manifests)
            .map(drop)
    }

    /// Installs a release's CRDs over those that are there, and waits until they are served.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn install(&self, bundle: &Bundle) -> Result<(), Error> {
        let mut command = self.kubectl();
        command.args(["apply", "--server-side", "--force-conflicts"]);
        for file in bundle.files()? {
            command.arg("--filename").arg(file);
        }
        programs::output(&mut command)?;
        self.wait(&["crd", "--all"], "condition=Established")
    }

    /// Waits for what `kubectl wait --for` waits for, a minute at most.
    ///
    /// # Errors
    /// When it does not come.
    pub fn wait(&self, objects: &[&str], awaited: &str) -> Result<(), Error> {
        let mut command = self.kubectl();
        command.args(["wait", "--timeout=60s", &format!("--for={awaited}")]).args(objects);
        programs::output(&mut command).map(drop)
    }

    /// The cluster's network.
    #[must_use]
    pub const fn network(&self) -> Network {
        self.network
    }

    /// A command that runs a program in the cluster's network, with an administrator's kubeconfig.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.network.command(program);
        command.env("KUBECONFIG", self.kubeconfig());
        command
    }

    /// Starts a program that is to run as long as the cluster, or until it is [killed](Self::kill); its output
    /// becomes a [log](Self::log). One of the same name must not run.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(&mut self, name: &str, command: &mut Command) -> Result<(), Error> {
        let component = Component::start(name, command, log_file(&self.folder, name))?;
        self.components.retain(|other| other.name != name);
        self.components.push(component);
        self.record(self.ends_with_us.then(ProcessId::own))
    }

    /// Kills a program that runs in the cluster, a component or one of [`Self::run`]'s, as a crash would.
    pub fn kill(&mut self, name: &str) {
        self.components.iter_mut().filter(|component| component.name == name).for_each(Component::kill);
    }

    /// The number of the process that runs as the program of this name; one of [`Self::run`]'s in the cluster's
    /// network is that program itself.
    #[must_use]
    pub fn process(&self, name: &str) -> Option<i32> {
        self.components.iter().find(|component| component.name == name).map(|component| component.id.number())
    }

    /// What of the memory of the program of this name is resident, in bytes; none if it does not run.
    #[must_use]
    pub fn resident_memory(&self, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process(name)?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes * 1024)
    }

    /// Ends a program that runs in the cluster as its supervisor would, with SIGTERM, and waits until it is gone;
    /// says whether it ran.
    pub fn terminate(&mut self, name: &str) -> bool {
        let component = self.components.iter_mut().find(|component| component.name == name);
        component.is_some_and(Component::terminate)
    }

    /// A folder of the cluster's, which goes with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a program in the cluster has printed: `etcd`, `kube-apiserver`, `kube-controller-manager`, `node`, or
    /// one of [`Self::run`]'s; under `audit`, as JSON lines, what ServiceAccounts have asked of the API server.
    #[must_use]
    pub fn log(&self, name: &str) -> Option<PathBuf> {
        let log = log_file(&self.folder, name);
        log.exists().then_some(log)
    }

    fn record(&self, owner: Option<ProcessId>) -> Result<(), Error> {
        let ids = self.components.iter().map(|component| (component.name.clone(), component.id.clone()));
        let record = state::Record { number: self.network.number(), owner, processes: ids.collect() };
        state::write(&self.name, &record)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.ends_with_us {
            return;
        }
        // What fails here is removed by whoever starts the next cluster.
        if let Err(error) = state::remove(&self.name) {
            eprintln!("cluster {}: {error}", self.name);
        }
        self.components.iter_mut().for_each(Component::reap);
    }
}

fn log_file(folder: &Path, component: &str) -> PathBuf {
    folder.join("logs").join(format!("{component}.log"))
}

/// Makes a folder in a cluster's.
fn make_folder(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let made = folder.join(name);
    fs::create_dir_all(&made).map_err(Error::file(&made))?;
    Ok(made)
}
