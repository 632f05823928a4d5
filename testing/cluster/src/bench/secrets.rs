//! The memory that Secrets cost which nothing names, beside one that a Gateway does.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{
    CONTROLLER, READY, Stage,
    objects::{self, Kind},
    settling,
};
use crate::Error;

/// 10 KiB of a Secret's data, in base64: 3 bytes are 4 letters.
const LETTERS: usize = 10 * 1024 / 3;

/// How long the controller is left alone before its memory is read.
const REST: Duration = Duration::from_secs(3);

/// What was measured, in bytes of the controller's resident memory.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Before the Secrets.
    pub before: u64,
    /// After they were made.
    pub after: u64,
    /// After the controller was started again, beside them.
    pub restarted: u64,
}

/// Reads the controller's memory, makes so many Secrets of 10 KiB, and reads it again.
///
/// # Errors
/// When the API server refuses, or the controller does not start again.
pub async fn measure(stage: &mut Stage, secrets: usize) -> Result<Figures, Error> {
    let named = objects::certificate("served")?;
    stage.create(Kind::Secret, [named]).await?;
    stage.create(Kind::Gateway, [objects::tls_gateway("tls", "served")]).await?;
    stage.cluster.wait(&["gateway", "tls"], "condition=Programmed")?;
    let before = stage.resident_memory().await?;
    let data = "QUFB".repeat(LETTERS);
    let secret =
        |number: usize| json!({"metadata": {"name": format!("unrelated-{number}")}, "data": {"key": data}});
    stage.create(Kind::Secret, (0..secrets).map(secret)).await?;
    stage.await_attention("later").await?;
    let after = stage.resident_memory().await?;
    stage.restart_controller().await?;
    stage.await_attention("latest").await?;
    let restarted = stage.resident_memory().await?;
    Ok(Figures { before, after, restarted })
}

impl Stage {
    /// Waits until the controller has seen to a route that is made now.
    async fn await_attention(&self, route: &str) -> Result<(), Error> {
        self.create(Kind::HttpRoute, [objects::route(route, &objects::name(0))]).await?;
        settling::all_settled(self, READY).await
    }

    async fn restart_controller(&mut self) -> Result<(), Error> {
        self.cluster.kill(CONTROLLER);
        self.cluster.start_controller(CONTROLLER, &self.program, &self.kubeconfig)
    }

    async fn resident_memory(&self) -> Result<u64, Error> {
        sleep(REST).await;
        let absent = || Error::Measurement("the controller does not run".to_owned());
        self.cluster.resident_memory(CONTROLLER).ok_or_else(absent)
    }
}
