//! The authorities that the operating system trusts.

use std::sync::{Arc, LazyLock};

use rustls::RootCertStore;

/// Read once: a process that is to trust others has to be started again. `SSL_CERT_FILE` and `SSL_CERT_DIR` name
/// other places than the system's own.
pub(super) fn roots() -> Arc<RootCertStore> {
    static ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, ignored) = roots.add_parsable_certificates(found.certs);
        tracing::info!(added, ignored, "the system's CA certificates are read");
        for error in &found.errors {
            tracing::warn!(%error, "CA certificates of the system cannot be read");
        }
        if roots.is_empty() {
            tracing::error!("the system has no CA certificates: no backend can be trusted by them");
        }
        Arc::new(roots)
    });
    Arc::clone(&ROOTS)
}
