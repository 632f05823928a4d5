//! The servers of a measurement: a backend, nginx as the peer, and the proxy itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{self, Failure};
use crate::tools::{self, NGINX};

/// The core that proxies run on; load and backend run on the other.
pub(crate) const PROXY_CORE: &str = "0";
/// The core of load and backend.
pub(crate) const LOAD_CORE: &str = "1";
/// What the backend answers.
pub(crate) const BODY: &str = "hello world\n";

/// A server that ends with this value.
pub(crate) struct Server {
    child: Child,
    /// Where it answers.
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Its process.
    #[must_use]
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        if asked.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// nginx with a configuration of `testing/bench`, its placeholders filled.
///
/// # Errors
/// When it does not answer.
pub(crate) fn nginx(
    folder: &Path,
    template: &str,
    address: SocketAddr,
    fill: &[(&str, String)],
    core: &str,
) -> Result<Server, Failure> {
    let source = process::root().join("testing/bench").join(template);
    let mut text = std::fs::read_to_string(&source).map_err(Failure::file(&source))?;
    let port = address.port().to_string();
    let folder_text = folder.display().to_string();
    for (name, value) in fill.iter().map(|(n, v)| (*n, v)).chain([("PORT", &port), ("FOLDER", &folder_text)])
    {
        text = text.replace(&format!("@{name}@"), value);
    }
    let path = folder.join(template);
    std::fs::write(&path, text).map_err(Failure::file(&path))?;
    let program = tools::command(&NGINX).get_program().to_owned();
    let mut command = pinned(core);
    command.arg(program).arg("-c").arg(&path).arg("-p").arg(folder).stderr(Stdio::null());
    start(command, address)
}

/// The release build of Portcullis over a folder of manifests.
///
/// # Errors
/// When it does not answer.
pub(crate) fn portcullis(manifests: &Path, address: SocketAddr) -> Result<Server, Failure> {
    let mut command = pinned(PROXY_CORE);
    command.arg(release_binary()).arg("run").arg(manifests);
    command.args(["--bind", "127.0.0.1", "--workers", "1", "--admin", "off"]).stdout(Stdio::null());
    start(command, address)
}

fn release_binary() -> std::path::PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| process::root().join("target"), Into::into);
    target.join("release/portcullis")
}

fn pinned(core: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core]).stdin(Stdio::null());
    command
}

fn start(mut command: Command, address: SocketAddr) -> Result<Server, Failure> {
    let child = command.spawn().map_err(|cause| Failure::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        cause,
    })?;
    let mut server = Server { child, address };
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if let Ok(Some(status)) = server.child.try_wait() {
            return Err(Failure::Other(format!("a server for {address} ended at once: {status}")));
        }
        if get(address, "/").is_ok() {
            return Ok(server);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::Other(format!("a server for {address} does not answer")))
}

/// One request; the whole answer.
///
/// # Errors
/// When there is no connection.
pub(crate) fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: bench.example\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
