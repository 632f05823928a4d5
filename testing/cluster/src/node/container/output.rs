//! Taking what a container prints, line by line.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader},
    task::JoinSet,
    time::timeout,
};

use crate::node::{
    launch::Process,
    limits::{LAST_OUTPUT, LINE_BYTES},
    logs::{Line, Output},
};

/// Copies what a process prints until it closes its output.
pub(crate) fn copy(process: &mut Process, output: &Arc<Output>) -> JoinSet<()> {
    let mut copying = JoinSet::new();
    if let Some((stdout, stderr)) = process.output.take() {
        copying.spawn(lines(stdout, Arc::clone(output)));
        copying.spawn(lines(BufReader::new(stderr), Arc::clone(output)));
    }
    copying
}

/// Waits for the rest of a process's output. A child of it that lives on may hold the output open;
/// what that one prints is lost.
pub(crate) async fn finish(mut copying: JoinSet<()>) {
    let rest = async { while copying.join_next().await.is_some() {} };
    if timeout(LAST_OUTPUT, rest).await.is_err() {
        tracing::debug!("output is still open after its process has ended");
    }
}

async fn lines(mut from: impl AsyncBufRead + Unpin, output: Arc<Output>) {
    loop {
        let mut line = Vec::new();
        match (&mut from).take(LINE_BYTES as u64).read_until(b'\n', &mut line).await {
            Ok(0) => return,
            Ok(_) => {
                output.send_modify(|ring| ring.push(Line { at: Timestamp::now(), text: Bytes::from(line) }));
            }
            Err(error) => return tracing::debug!(%error, "a container's output cannot be read"),
        }
    }
}
