//! Making one probe.

use std::{net::Ipv4Addr, process::Stdio};

use k8s_openapi::{
    api::core::v1::{ContainerPort, ExecAction, Probe},
    apimachinery::pkg::util::intstr::IntOrString,
};
use rustix::process::Pid;
use tokio::{net::TcpStream, process::Command};

use super::http;

/// The container that probes ask.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: Ipv4Addr,
    /// The ports that probes may name.
    pub(crate) ports: Vec<ContainerPort>,
    /// The container's process, whose namespaces commands run in.
    pub(crate) process: Pid,
    /// The container's variables, as `NAME=VALUE`.
    pub(crate) environment: Vec<String>,
}

impl Target {
    /// # Errors
    /// What is wrong, in words for a person.
    pub(crate) async fn ask(&self, probe: &Probe) -> Result<(), String> {
        if let Some(get) = &probe.http_get {
            let host = get.host.clone().unwrap_or_else(|| self.address.to_string());
            http::get(&host, self.port(&get.port)?, get).await
        } else if let Some(tcp) = &probe.tcp_socket {
            let host = tcp.host.clone().unwrap_or_else(|| self.address.to_string());
            let port = self.port(&tcp.port)?;
            TcpStream::connect((host, port)).await.map(drop).map_err(|error| error.to_string())
        } else if let Some(exec) = &probe.exec {
            self.run(exec).await
        } else {
            Err("this node makes httpGet, tcpSocket and exec probes".to_owned())
        }
    }

    fn port(&self, port: &IntOrString) -> Result<u16, String> {
        let number = match port {
            IntOrString::Int(number) => Some(*number),
            IntOrString::String(name) => {
                let named = self.ports.iter().find(|port| port.name.as_ref() == Some(name));
                named.map(|port| port.container_port).or_else(|| name.parse().ok())
            }
        };
        number
            .and_then(|number| u16::try_from(number).ok())
            .ok_or_else(|| format!("there is no port {port:?}"))
    }

    async fn run(&self, exec: &ExecAction) -> Result<(), String> {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.process.as_raw_nonzero().to_string());
        command.args(["--pid", "--net", "--mount", "--uts", "--root", "--wd"]);
        // What is asked too long dies with the one who asked.
        command.args(["setpriv", "--pdeathsig", "KILL", "env", "-i"]);
        command.args(&self.environment).args(exec.command.iter().flatten());
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        Err(format!("{}: {}", output.status, String::from_utf8_lossy(&said).trim()))
    }
}
