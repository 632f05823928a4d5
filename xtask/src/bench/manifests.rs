//! The resources that the proxy is measured with.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::process::Failure;

/// Rules of one HTTPRoute: the API's own limit.
const RULES_A_ROUTE: usize = 16;

/// Writes a folder of manifests: a Gateway at a port and this many prefix rules under one host.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write(folder: &Path, port: u16, backend: SocketAddr, rules: usize) -> Result<PathBuf, Failure> {
    let folder = folder.join(format!("manifests-{rules}"));
    std::fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
    let mut text = gateway(port, backend);
    for first in (0..rules).step_by(RULES_A_ROUTE) {
        let _ = write!(
            text,
            "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r{first:05}}}\n\
             spec:\n  parentRefs: [{{name: bench}}]\n  hostnames: [bench.example]\n  rules:\n"
        );
        for rule in first..rules.min(first + RULES_A_ROUTE) {
            let path = path(rule, rules);
            let _ = writeln!(
                text,
                "  - matches: [{{path: {{type: PathPrefix, value: {path}}}}}]\n    \
                 backendRefs: [{{group: gateway.envoyproxy.io, kind: Backend, name: bench}}]"
            );
        }
    }
    let path = folder.join("bench.yaml");
    std::fs::write(&path, text).map_err(Failure::file(&path))?;
    Ok(folder)
}

/// The path of a rule: `/` if there is one rule only.
#[must_use]
pub(crate) fn path(rule: usize, rules: usize) -> String {
    if rules == 1 { "/".to_owned() } else { format!("/service-{rule:05}") }
}

fn gateway(port: u16, backend: SocketAddr) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {{name: bench}}\n\
         spec: {{controllerName: portcullis.dev/gateway-controller}}\n---\n\
         apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: bench}}\n\
         spec:\n  gatewayClassName: bench\n  listeners: [{{name: http, port: {port}, protocol: HTTP}}]\n---\n\
         apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: Backend\nmetadata: {{name: bench}}\n\
         spec: {{endpoints: [{{ip: {{address: {}, port: {}}}}}]}}\n",
        backend.ip(),
        backend.port()
    )
}
