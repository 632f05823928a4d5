//! How a client got in at a guarded listener, and whether it still would.

use std::cell::Cell;
use std::pin::pin;

use portcullis_model::{BindAddress, ListenerId};
use rustls_pki_types::CertificateDer;

use super::clients::Guard;
use super::forwarded;
use crate::reason::Reason;
use crate::view::Version;
use crate::worker::Worker;

/// How a client got in at a guarded listener.
pub(crate) struct Admission {
    listener: ListenerId,
    /// The certificate that was verified, with its chain; empty where none was.
    chain: Vec<CertificateDer<'static>>,
    /// What backends are told of it.
    forwarded: Option<Vec<u8>>,
    leaving: Cell<bool>,
}

impl Admission {
    /// Judges a connection after its handshake, by the chain that it showed. What a resumed session once showed is
    /// verified again (it is not `fresh`): it may have ended, or been of an authority that is trusted no more.
    pub(super) fn new(
        listener: &ListenerId,
        guard: &Guard,
        chain: &[CertificateDer<'_>],
        fresh: bool,
    ) -> Result<Admission, Reason> {
        let is_verified = guard.is_strict() && fresh;
        let chain = if is_verified || guard.verifies(chain) { chain } else { &[] };
        if chain.is_empty() && guard.is_strict() {
            return Err(Reason::ClientCertificate);
        }
        Ok(Admission {
            listener: listener.clone(),
            chain: chain.iter().map(|certificate| certificate.clone().into_owned()).collect(),
            forwarded: chain.first().map(|leaf| forwarded::element(leaf)),
            leaving: Cell::new(false),
        })
    }

    /// What backends are told of the certificate that was verified: an element of `x-forwarded-client-cert`.
    pub(crate) fn forwarded(&self) -> Option<&[u8]> {
        self.forwarded.as_deref()
    }

    /// Whether the client would get in no more, so that its connection is to end.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.get()
    }

    /// Ready when the connection has to be cut: a while after a configuration came under which the client would not
    /// get in. Meanwhile [`Admission::is_leaving`] says so, that it can end in its own way.
    pub(crate) async fn revoked(&self, worker: &Worker, address: &BindAddress) {
        loop {
            let mut changed = pin!(worker.refreshed.notified());
            changed.as_mut().enable();
            if !self.holds(&worker.config(), address) {
                break;
            }
            changed.await;
        }
        self.leaving.set(true);
        tracing::debug!(listener = %self.listener, "a client's certificate is trusted no more");
        tokio::time::sleep(worker.shared.options.limits.revoked_client_time).await;
    }

    /// Whether the listener, as it is now, would let the client in. One that is open lets everybody in, and one that
    /// is gone has nothing to guard.
    fn holds(&self, config: &Version, address: &BindAddress) -> bool {
        let Some(served) = config.port(address) else { return true };
        let Some(listener) = served.tls.get(&self.listener) else { return true };
        let Some(tls) = listener else { return false };
        match &tls.guard {
            None => true,
            Some(guard) if self.chain.is_empty() => !guard.is_strict(),
            Some(guard) => guard.verifies(&self.chain),
        }
    }
}
