//! What tests do to a cluster.

use super::{Cluster, start};
use crate::{Error, control_plane, programs};

impl Cluster {
    /// Kills the API server, as a crash would. Connections to it are reset.
    pub fn kill_apiserver(&mut self) {
        self.kill(start::API_SERVER);
    }

    /// Starts the API server after [`Self::kill_apiserver`] and waits until it is ready.
    ///
    /// # Errors
    /// When it does not get ready.
    pub async fn restart_apiserver(&mut self) -> Result<(), Error> {
        self.start_apiserver(&[]).await
    }

    /// Restarts the API server as one that cannot stream lists, as all before Kubernetes 1.32.
    ///
    /// # Errors
    /// When it does not get ready.
    pub async fn restart_apiserver_without_streamed_lists(&mut self) -> Result<(), Error> {
        self.kill_apiserver();
        self.start_apiserver(&["--feature-gates=WatchList=false"]).await
    }

    /// Removes the history of all objects from etcd, so that a watch which the API server must answer
    /// from it (after a restart: any that names an old resource version) is told 410 Gone.
    ///
    /// # Errors
    /// When etcd refuses.
    pub fn compact_etcd(&self) -> Result<(), Error> {
        let status = self.ask_etcd("maintenance/status", &serde_json::json!({}))?;
        // 64-bit numbers are text in etcd's JSON.
        let revision = status.pointer("/header/revision").cloned().unwrap_or_default();
        let compaction = serde_json::json!({"revision": revision, "physical": true});
        self.ask_etcd("kv/compaction", &compaction).map(drop)
    }

    /// Asks etcd through its JSON gateway, which listens in the cluster's network alone.
    fn ask_etcd(&self, what: &str, question: &serde_json::Value) -> Result<serde_json::Value, Error> {
        let url = format!("{}/v3/{what}", control_plane::ETCD);
        let mut command = self.command("curl");
        command.args(["--silent", "--show-error", "--fail-with-body", "--data", &question.to_string(), &url]);
        let answer = programs::output(&mut command)?;
        Ok(serde_json::from_str(&answer).unwrap_or_default())
    }
}
