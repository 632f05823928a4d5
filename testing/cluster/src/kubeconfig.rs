//! The file that clients find a cluster by.

use std::{fs, net::SocketAddrV4, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::Error;

/// Writes a kubeconfig for a bearer of a token; it names no other file, so that it can be copied.
pub(crate) fn write(path: &Path, server: SocketAddrV4, authority: &Path, token: &str) -> Result<(), Error> {
    let authority = STANDARD.encode(fs::read(authority).map_err(Error::file(authority))?);
    let text = format!(
        "apiVersion: v1
kind: Config
current-context: portcullis
clusters:
- name: portcullis
  cluster:
    server: https://{server}
    certificate-authority-data: {authority}
users:
- name: user
  user:
    token: {token}
contexts:
- name: portcullis
  context:
    cluster: portcullis
    user: user
"
    );
    fs::write(path, text).map_err(Error::file(path))
}
