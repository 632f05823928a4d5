//! What is known about clusters outside the process that started them: a folder for each.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::{Error, network::Network, processes::ProcessId};

/// How long killed processes may take to be gone.
const GONE: Duration = Duration::from_secs(10);

/// A cluster's record: what has to be removed, and who would do it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The cluster's number.
    pub(crate) number: u8,
    /// The process that removes the cluster when it ends; none for one that is left running.
    pub(crate) owner: Option<ProcessId>,
    /// The control plane and the node, by name.
    pub(crate) processes: BTreeMap<String, ProcessId>,
}

impl Record {
    /// Whether somebody has use of the cluster.
    fn is_alive(&self) -> bool {
        match &self.owner {
            Some(owner) => owner.is_alive(),
            None => self.processes.values().any(ProcessId::is_alive),
        }
    }

    pub(crate) fn network(&self) -> Network {
        Network::numbered(self.number)
    }
}

/// The names of the clusters there are, in order.
///
/// # Errors
/// When their folder cannot be read.
pub fn names() -> Result<Vec<String>, Error> {
    let all = clusters();
    if !all.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&all).map_err(Error::file(&all))?.flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// The folder of a cluster.
pub(crate) fn folder(name: &str) -> PathBuf {
    clusters().join(name)
}

/// Makes a cluster's folder, network and record, after a [`sweep`].
pub(crate) fn claim(name: &str, owner: ProcessId) -> Result<Record, Error> {
    let _lock = lock()?;
    sweep_locked()?;
    if read(name).is_some() {
        return Err(Error::Taken(name.to_owned()));
    }
    let folder = folder(name);
    fs::create_dir(&folder).map_err(Error::file(&folder))?;
    let network = Network::create()?;
    let record = Record { number: network.number(), owner: Some(owner), processes: BTreeMap::new() };
    write(name, &record)?;
    Ok(record)
}

/// Removes what crashes have left: clusters whose owner is gone, those left running of which nothing runs any
/// more, as after a restart of the machine, and networks that nobody recorded.
///
/// # Errors
/// When something cannot be removed.
pub fn sweep() -> Result<(), Error> {
    let _lock = lock()?;
    sweep_locked()
}

fn sweep_locked() -> Result<(), Error> {
    let mut recorded = Vec::new();
    for name in names()? {
        match read(&name) {
            Some(record) if record.is_alive() => recorded.push(record.number),
            _ => remove_locked(&name)?,
        }
    }
    for network in Network::all()?.into_iter().filter(|network| !recorded.contains(&network.number())) {
        end_processes(network)?;
        network.remove()?;
    }
    Ok(())
}

/// What is recorded of a cluster, if there is one.
pub(crate) fn read(name: &str) -> Option<Record> {
    serde_json::from_slice(&fs::read(folder(name).join(RECORD)).ok()?).ok()
}

/// Records a cluster; another process sees the old record or this one.
pub(crate) fn write(name: &str, record: &Record) -> Result<(), Error> {
    let path = folder(name).join(RECORD);
    let fresh = path.with_extension("new");
    let text = serde_json::to_vec_pretty(record).unwrap_or_default();
    fs::write(&fresh, text).map_err(Error::file(&fresh))?;
    fs::rename(&fresh, &path).map_err(Error::file(&path))
}

/// Ends a cluster's processes and removes its network and folder, as far as they are there. Mounts
/// are the pods' own and go with them.
///
/// # Errors
/// When something cannot be removed.
pub fn remove(name: &str) -> Result<(), Error> {
    let _lock = lock()?;
    remove_locked(name)
}

fn remove_locked(name: &str) -> Result<(), Error> {
    let folder = folder(name);
    if let Some(record) = read(name) {
        record.processes.values().for_each(ProcessId::kill);
        if record.network().exists()? {
            end_processes(record.network())?;
            record.network().remove()?;
        }
    }
    match fs::remove_dir_all(&folder) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(Error::file(&folder)(cause)),
        _ => Ok(()),
    }
}

/// Kills whatever runs in a network, so that nothing is missed that a component has started. The pods
/// end with the node.
fn end_processes(network: Network) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        let left = network.processes()?;
        if left.is_empty() || start.elapsed() > GONE {
            return Ok(());
        }
        for pid in left.into_iter().filter_map(Pid::from_raw) {
            // One that has just ended is what we want.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One process at a time makes or removes clusters.
fn lock() -> Result<File, Error> {
    let all = clusters();
    fs::create_dir_all(&all).map_err(Error::file(&all))?;
    let path = all.join("lock");
    let file = File::create(&path).map_err(Error::file(&path))?;
    file.lock().map_err(Error::file(&path))?;
    Ok(file)
}

fn clusters() -> PathBuf {
    portcullis_golang::cache_folder().join("clusters")
}

const RECORD: &str = "cluster.json";
