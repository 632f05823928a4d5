//! `run --takeover SOCKET`: a new process takes the listening sockets of the old one, so that a new binary or other
//! options need no moment without anybody who accepts.
//!
//! The old process listens at SOCKET. The new one connects, gets every listening socket and every one of UDP
//! ([`descriptors`]), and says that it serves. Only then the old one accepts and receives no more, leaves SOCKET to the
//! new one and drains. If the new one ends before that, nothing has changed for the old one.

mod descriptors;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portcullis_proxy::ProxyHandle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use crate::exit::Failure;

/// What a successor says first; another release's other protocol would have another number.
const HELLO: u8 = b'1';
/// What a successor says when it serves.
const SERVING: u8 = b'S';
/// How long either side waits for the other's next word, but for [`SERVING`].
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a successor may take to serve.
const START: Duration = Duration::from_secs(60);

/// The process that is taken over from.
pub(crate) struct Predecessor(UnixStream);

/// Asks the process at a socket for its listening sockets. None if there is no such process.
pub(crate) async fn ask(path: &Path) -> Result<Option<(Predecessor, Vec<OwnedFd>)>, Failure> {
    let mut stream = match UnixStream::connect(path).await {
        Ok(stream) => stream,
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) => return Err(refused(path, &error)),
    };
    let asked = timeout(PATIENCE, async {
        stream.write_all(&[HELLO]).await?;
        descriptors::receive(&stream).await
    });
    let sockets = asked.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let sockets = sockets.map_err(|error| refused(path, &error))?;
    tracing::info!(sockets = sockets.len(), "taking over");
    Ok(Some((Predecessor(stream), sockets)))
}

fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!(
        "--takeover {}: the process there gives its sockets to nobody: {error}",
        path.display()
    ))
    .hint("run both processes as the same user, and end the old one if it does not answer")
}

impl Predecessor {
    /// Says that this process serves, and waits until the other has left the socket's path.
    pub(crate) async fn release(mut self) {
        let left = timeout(PATIENCE, async {
            self.0.write_all(&[SERVING]).await?;
            self.0.read(&mut [0]).await
        });
        match left.await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the process that was taken over from did not say that it leaves");
            }
            Err(_) => tracing::warn!("the process that was taken over from does not say that it leaves"),
        }
    }
}

/// The socket at which a successor asks. Its path goes with it.
pub(crate) struct Succession {
    listener: UnixListener,
    path: PathBuf,
}

impl Succession {
    /// Listens for a successor; only processes of the same user get an answer.
    pub(crate) fn listen(path: &Path) -> Result<Succession, Failure> {
        let failure = |error: io::Error| {
            Failure::new(format!("--takeover {}: {error}", path.display()))
                .hint("name a socket in a folder that this user may write to")
        };
        // Whoever listened here has been asked before and was not there; another file is not ours to remove.
        if std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            fs::remove_file(path).map_err(failure)?;
        }
        let listener = UnixListener::bind(path).map_err(failure)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failure)?;
        Ok(Succession { listener, path: path.to_path_buf() })
    }

    /// Waits until a successor serves with this process's sockets.
    pub(crate) async fn succeeded(&self, proxy: &Arc<ProxyHandle>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => match self.hand_over(stream, proxy).await {
                    Ok(()) => return,
                    Err(error) => {
                        tracing::warn!(%error, "a process that asked for the sockets does not serve");
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "no successor can be heard");
                    tokio::time::sleep(PATIENCE).await;
                }
            }
        }
    }

    async fn hand_over(&self, mut stream: UnixStream, proxy: &Arc<ProxyHandle>) -> io::Result<()> {
        let user = rustix::process::geteuid().as_raw();
        if !matches!(stream.peer_cred()?.uid(), peer if peer == user || peer == 0) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        if timeout(PATIENCE, stream.read_u8()).await.map_err(late)?? != HELLO {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it speaks another release's protocol"));
        }
        timeout(PATIENCE, descriptors::send(&stream, &proxy.sockets()?)).await.map_err(late)??;
        if timeout(START, stream.read_u8()).await.map_err(late)?? != SERVING {
            return Err(io::ErrorKind::InvalidData.into());
        }
        proxy.leave();
        self.leave();
        Ok(())
    }

    fn leave(&self) {
        // That somebody else has removed it is as good.
        let _ = fs::remove_file(&self.path);
    }
}
