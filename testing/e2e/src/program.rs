//! The program under test.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{http, ports};

/// The built binary. `PORTCULLIS_E2E_PROFILE=dev` takes the development build, which compiles faster.
pub fn binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

fn build() -> PathBuf {
    let profile = std::env::var("PORTCULLIS_E2E_PROFILE").unwrap_or_else(|_| "release".to_owned());
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--package", "portcullis", "--profile", &profile])
        .current_dir(root())
        .status()
        .expect("cargo starts");
    assert!(built.success(), "the program does not build");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join(if profile == "dev" { "debug" } else { &profile }).join("portcullis")
}

/// The workspace's root.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// Runs a command of the program to its end.
pub fn output<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    Command::new(binary())
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .expect("it starts")
}

/// A running `portcullis run`, ended with this value.
pub struct Portcullis {
    child: Child,
    /// Its admin address.
    pub admin: SocketAddr,
}

impl Portcullis {
    /// Starts `portcullis run` over a path, on loopback, and returns once `/readyz` says yes.
    pub fn run<S: AsRef<OsStr>>(path: &Path, arguments: impl IntoIterator<Item = S>) -> Portcullis {
        Portcullis::run_at(SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free())), path, arguments)
    }

    /// The same with an admin address of the caller's choice.
    pub fn run_at<S: AsRef<OsStr>>(
        admin: SocketAddr,
        path: &Path,
        arguments: impl IntoIterator<Item = S>,
    ) -> Portcullis {
        let child = Command::new(binary())
            .arg("run")
            .arg(path)
            .args(["--bind", "127.0.0.1", "--admin", &admin.to_string()])
            .args(arguments)
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut running = Portcullis { child, admin };
        running.wait_until_ready();
        running
    }

    /// Starts the program as documentation says, its ports and all, and returns once it serves: `run` with an
    /// admin address of its own, `echo` at the address that the line names.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn documented(line: &str) -> Portcullis {
        let words: Vec<&str> = line.split_whitespace().collect();
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()));
        let mut command = Command::new(binary());
        command.args(&words).current_dir(root()).stdin(Stdio::null()).stdout(Stdio::null());
        let Some(address) = words.strip_prefix(&["echo"]).and_then(|words| words.first()) else {
            command.args(["--admin", &admin.to_string()]);
            let mut running = Portcullis { child: command.spawn().expect("it starts"), admin };
            running.wait_until_ready();
            return running;
        };
        let address: SocketAddr = address.parse().expect("echo is documented with its address");
        let mut running = Portcullis { child: command.spawn().expect("it starts"), admin };
        running.wait_until(|_| http::get(address, "echo", "/").is_ok());
        running
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its memory, in bytes: what of it is resident.
    #[must_use]
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
        let kib = line.trim().trim_end_matches(" kB").trim().parse::<u64>();
        kib.expect("a number of kB") * 1024
    }

    /// What the admin address answers for a path.
    #[must_use]
    pub fn admin_get(&self, path: &str) -> Option<http::Answer> {
        http::get(self.admin, "admin", path).ok()
    }

    /// Asks it to drain, as a service manager does.
    pub fn terminate(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        assert!(sent.expect("kill starts").success());
    }

    /// Waits for its end and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("it can be waited for").code()
    }

    fn wait_until_ready(&mut self) {
        self.wait_until(|running| running.admin_get("/readyz").is_some_and(|answer| answer.status == 200));
    }

    fn wait_until(&mut self, ready: impl Fn(&Portcullis) -> bool) {
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                panic!("portcullis ended at once: {status}");
            }
            if ready(self) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5)); // readiness has no event to wait for
        }
        panic!("portcullis is not ready after 30 s");
    }
}

impl Drop for Portcullis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
