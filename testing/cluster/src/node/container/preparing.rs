//! What a container needs before its process: a program for its image, variables, mounts.

use std::{collections::BTreeMap, fs};

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use tokio::time::sleep;

use crate::node::{
    environment::{EnvironmentError, environment},
    expansion::expand,
    fields::Addresses,
    images::Program,
    launch::{Launch, Mount},
    limits::RETRY,
    pod::PodRun,
    sandbox::Sandbox,
    state::Phase,
    volumes::{self, Kind},
};

/// Where programs are looked for when neither image nor container says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Why a container waits.
#[derive(Debug, thiserror::Error)]
enum Waiting {
    #[error("no program stands for image {0:?}")]
    Image(String),
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    #[error("there is no volume {0:?}")]
    Volume(String),
}

impl Waiting {
    fn reason(&self) -> &'static str {
        match self {
            Self::Image(_) => "ErrImagePull",
            Self::Environment(_) | Self::Volume(_) => "CreateContainerConfigError",
        }
    }
}

/// Waits until a container has what it needs, saying what it waits for.
pub(crate) async fn prepared<'a>(run: &PodRun, sandbox: &Sandbox, container: &'a Container) -> Launch<'a> {
    let mut inputs = run.inputs.clone();
    loop {
        inputs.mark_unchanged();
        match launch(run, sandbox, container) {
            Ok(launch) => return launch,
            Err(waiting) => run.report(&container.name, |report| {
                report.phase = Phase::Waiting { reason: waiting.reason(), message: waiting.to_string() };
            }),
        }
        if inputs.changed().await.is_err() {
            sleep(RETRY).await;
        }
    }
}

fn launch<'a>(run: &PodRun, sandbox: &Sandbox, container: &'a Container) -> Result<Launch<'a>, Waiting> {
    let image = container.image.as_deref().unwrap_or_default();
    let program = run.node.images.find(image).ok_or_else(|| Waiting::Image(image.to_owned()))?;
    let mut variables = BTreeMap::from([
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOME".to_owned(), "/root".to_owned()),
        ("HOSTNAME".to_owned(), run.name.clone()),
    ]);
    variables.extend(run.node.service.clone());
    variables.extend(program.env.clone());
    let addresses = Addresses { pod: sandbox.address(), host: run.node.network.host };
    let pod = run.pod.borrow().clone();
    let environment = environment(container, &pod, addresses, &run.inputs.borrow(), &variables)?;
    let mut mounts = run.node.host_mounts.clone();
    mounts.extend(volume_mounts(run, container, &environment)?);
    Ok(Launch {
        command: command(container, program, &environment),
        mounts,
        environment,
        directory: container.working_dir.as_deref().unwrap_or("/"),
    })
}

/// Source: `Container.command` and `Container.args` field documentation.
fn command(container: &Container, program: &Program, variables: &BTreeMap<String, String>) -> Vec<String> {
    let given = |words: &Option<Vec<String>>| -> Option<Vec<String>> {
        let words = words.as_ref().filter(|words| !words.is_empty())?;
        Some(words.iter().map(|word| expand(word, variables)).collect())
    };
    let args = given(&container.args);
    match given(&container.command) {
        Some(command) => [command, args.unwrap_or_default()].concat(),
        None => [program.command.clone(), args.unwrap_or_else(|| program.args.clone())].concat(),
    }
}

/// The mounts of a container's volumes, outer paths first.
fn volume_mounts(
    run: &PodRun,
    container: &Container,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Mount>, Waiting> {
    let mounts = container.volume_mounts.iter().flatten();
    let mounts: Result<Vec<Mount>, Waiting> =
        mounts.map(|mount| volume_mount(run, mount, variables)).collect();
    let mut mounts = mounts?;
    mounts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(mounts)
}

fn volume_mount(
    run: &PodRun,
    mount: &VolumeMount,
    variables: &BTreeMap<String, String>,
) -> Result<Mount, Waiting> {
    let missing = || Waiting::Volume(mount.name.clone());
    let volume =
        run.spec.volumes.iter().flatten().find(|volume| volume.name == mount.name).ok_or_else(missing)?;
    let kind = volumes::kind(volume).ok_or_else(missing)?;
    let mut source = volumes::place(volume, &run.folder);
    let expanded = mount.sub_path_expr.as_ref().map(|path| expand(path, variables));
    if let Some(path) = expanded.or_else(|| mount.sub_path.clone()).filter(|path| !path.is_empty()) {
        source.push(path);
        if kind == Kind::Empty {
            // A part of a volume that nobody has made is a folder; what fails here fails again, and is
            // told, when it is mounted.
            _ = fs::create_dir_all(&source);
        }
    }
    let read_only = mount.read_only.unwrap_or_default() || matches!(kind, Kind::Files(_));
    let options = if read_only { "bind,ro" } else { "bind" };
    Ok(Mount { source, path: mount.mount_path.clone(), options })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_containers_words_take_the_place_of_its_images() {
        let program =
            Program { command: vec!["echo".into()], args: vec!["image".into()], env: BTreeMap::new() };
        let variables = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let words = |container: Value| {
            let mut container = container;
            container["name"] = json!("c");
            command(&serde_json::from_value(container).unwrap(), &program, &variables)
        };
        assert_eq!(words(json!({})), ["echo", "image"]);
        assert_eq!(words(json!({"args": ["$(A)"]})), ["echo", "1"]);
        assert_eq!(words(json!({"command": ["sh"]})), ["sh"]);
        assert_eq!(words(json!({"command": ["sh"], "args": ["-c"]})), ["sh", "-c"]);
    }
}
