//! The Go toolchain: modules as folders, the referee as a program.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};

/// A Go module whose files are read; it is never built.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    path: &'static str,
    version: &'static str,
    /// The toolchain its go.mod asks for; `go mod download` refuses an older one.
    toolchain: &'static str,
}

/// The API: CRDs and examples.
pub const GATEWAY_API: Module =
    Module { path: "sigs.k8s.io/gateway-api", version: "v1.7.0", toolchain: "go1.27.3" };

/// The conformance suite: its manifests.
pub const CONFORMANCE: Module =
    Module { path: "sigs.k8s.io/gateway-api/conformance", version: "v1.7.0", toolchain: "go1.27.3" };

/// Envoy Gateway: the CRD of its `Backend`.
pub const ENVOY_GATEWAY: Module =
    Module { path: "github.com/envoyproxy/gateway", version: "v1.9.1", toolchain: "auto" };

/// Whether there is a Go that can fetch the toolchains it needs, so 1.21 or later. Without one a
/// laptop skips, saying so, and CI fails.
pub fn is_usable() -> bool {
    let lacking = match release() {
        Some(minor) if minor >= 21 => return true,
        Some(minor) => format!("go 1.{minor} is too old to fetch newer ones"),
        None => "go is not installed".to_owned(),
    };
    assert!(env::var("CI").as_deref() != Ok("true"), "{lacking}, and CI must ask the referee");
    eprintln!("skipped: the referee of admission is a Go program, and {lacking}");
    false
}

/// The minor release of the Go that is installed: 26 of `go version go1.26.8 linux/amd64`.
fn release() -> Option<u32> {
    let output = Command::new("go").arg("version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split("go1.").nth(1)?.split(['.', ' ']).next()?.parse().ok()
}

impl Module {
    /// The folder of the module's files, downloaded if need be.
    pub fn folder(&self) -> PathBuf {
        let module = format!("{}@{}", self.path, self.version);
        let output = Command::new("go")
            .args(["mod", "download", "-json", &module])
            .env("GOTOOLCHAIN", self.toolchain)
            .env("GOFLAGS", "")
            .current_dir(env::temp_dir())
            .output()
            .unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let folder = answer["Dir"].as_str();
        PathBuf::from(folder.unwrap_or_else(|| {
            panic!("go mod download {module}: {answer}\n{}", String::from_utf8_lossy(&output.stderr))
        }))
    }
}

/// Builds `testing/admission`, once for each state of its sources, outside the tree.
pub fn build_referee() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../admission");
    let folder = cache_folder().join("admission").join(state_of(&sources));
    let program = folder.join("admission");
    if program.exists() {
        return program;
    }
    fs::create_dir_all(&folder).unwrap();
    // Tests may build at the same time: each in a file of its own, and the last rename stands.
    let built = folder.join(format!("building-{}", std::process::id()));
    let status = Command::new("go")
        .args(["build", "-trimpath", "-o"])
        .arg(&built)
        .arg(".")
        .env("GOTOOLCHAIN", "auto")
        .current_dir(&sources)
        .status()
        .unwrap();
    assert!(status.success(), "go build in {}: {status}", sources.display());
    fs::rename(&built, &program).unwrap();
    program
}

fn cache_folder() -> PathBuf {
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")));
    caches.unwrap_or_else(env::temp_dir).join("portcullis")
}

/// A hash of the Go files, go.mod and go.sum in a folder.
fn state_of(sources: &Path) -> String {
    let mut files: Vec<PathBuf> = fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut hash = Sha256::new();
    for file in files.iter().filter(|file| file.is_file()) {
        hash.update(file.file_name().unwrap().as_encoded_bytes());
        hash.update(fs::read(file).unwrap());
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The YAML files under a folder, in order.
pub fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    found
}
