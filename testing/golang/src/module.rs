//! Upstream modules whose files are read.

use std::{borrow::Cow, env, path::PathBuf, process::Command};

use crate::Error;

/// A Go module whose files are read; it is never built.
#[derive(Clone, Debug)]
pub struct Module {
    path: &'static str,
    version: Cow<'static, str>,
    toolchain: &'static str,
}

/// The Gateway API: CRDs and examples.
pub const GATEWAY_API: Module = Module::new("sigs.k8s.io/gateway-api", "v1.7.0", "go1.27.3");

/// The conformance suite: its manifests.
pub const CONFORMANCE: Module = Module::new("sigs.k8s.io/gateway-api/conformance", "v1.7.0", "go1.27.3");

/// Envoy Gateway: the CRD of its `Backend`.
pub const ENVOY_GATEWAY: Module = Module::new("github.com/envoyproxy/gateway", "v1.9.1", "auto");

impl Module {
    /// A module at a version. `toolchain` is the one its go.mod asks for, as `GOTOOLCHAIN` names it: `go mod
    /// download` refuses an older one.
    #[must_use]
    pub const fn new(path: &'static str, version: &'static str, toolchain: &'static str) -> Self {
        Self { path, version: Cow::Borrowed(version), toolchain }
    }

    /// The file of Envoy Gateway that holds a CRD, by its plural.
    ///
    /// # Errors
    /// When the module is not here and cannot be downloaded.
    pub fn envoy_gateway_crd(plural: &str) -> Result<PathBuf, Error> {
        let generated = "charts/gateway-helm/charts/crds/crds/generated";
        let name = format!("gateway.envoyproxy.io_{plural}.yaml");
        Ok(ENVOY_GATEWAY.folder()?.join(generated).join(name))
    }

    /// The same module at another version.
    #[must_use]
    pub fn at(&self, version: &str) -> Self {
        Self { version: Cow::Owned(version.to_owned()), ..self.clone() }
    }

    /// The folder of the module's files, downloaded if need be.
    ///
    /// # Errors
    /// When Go is absent or the module cannot be downloaded.
    pub fn folder(&self) -> Result<PathBuf, Error> {
        let module = format!("{}@{}", self.path, self.version);
        let output = Command::new("go")
            .args(["mod", "download", "-json", &module])
            .env("GOTOOLCHAIN", self.toolchain)
            .env("GOFLAGS", "")
            .current_dir(env::temp_dir())
            .output()
            .map_err(Error::Start)?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        match answer.get("Dir").and_then(serde_json::Value::as_str) {
            Some(folder) => Ok(PathBuf::from(folder)),
            None => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(Error::Download { module, answer: format!("{answer}\n{said}") })
            }
        }
    }
}
