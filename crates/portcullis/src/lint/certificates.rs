//! Certificates that clients refuse, or soon will.

use std::collections::BTreeSet;

use jiff::Timestamp;
use portcullis_api::{Diagnostic, FieldPath, Kind, ObjectKey};
use portcullis_model::{Certificate, HostPattern, Listener, Model};

use super::rules::{CERTIFICATE_ENDS_SOON, CERTIFICATE_EXPIRED, CERTIFICATE_OTHER_HOST};

/// Seconds before its end when a certificate should have been renewed: 14 days, which leaves ACME clients (they renew
/// 30 days before) time to have failed.
const SOON: i64 = 14 * 24 * 60 * 60;

pub(super) fn lint(model: &Model, now: i64) -> Vec<Diagnostic> {
    // What listens on several addresses is there once for each.
    let (mut seen, mut shown) = (BTreeSet::new(), BTreeSet::new());
    let mut found = Vec::new();
    for listener in model.ports.values().flat_map(|port| &port.listeners) {
        let Some(tls) = listener.protocol.tls() else { continue };
        for certificate in &tls.certificates {
            if shown.insert((&listener.id, certificate.origin())) {
                found.extend(of_names(listener, certificate));
            }
            if seen.insert(certificate.origin().clone()) {
                found.extend(of_end(certificate, now));
            }
        }
    }
    found
}

fn of_end(certificate: &Certificate, now: i64) -> Option<Diagnostic> {
    let end = certificate.not_after();
    let left = end.saturating_sub(now);
    let (rule, verb) = match left {
        ..=0 => (&CERTIFICATE_EXPIRED, "expired"),
        1..=SOON => (&CERTIFICATE_ENDS_SOON, "expires"),
        _ => return None,
    };
    let when = Timestamp::from_second(end).map(|end| end.to_string()).unwrap_or_default();
    Some(about(certificate, Diagnostic::new(rule, chain(), format!("{verb} at {when}"))))
}

/// A listener of one exact name shows its certificate to that name only.
fn of_names(listener: &Listener, certificate: &Certificate) -> Option<Diagnostic> {
    let HostPattern::Exact(name) = &listener.hostname else { return None };
    let fits = certificate.names().iter().any(|pattern| pattern.matches(name.as_str()));
    (!fits).then(|| {
        let message =
            format!("{} has no name that fits {} of {}", certificate.origin(), name.as_str(), listener.id);
        about(certificate, Diagnostic::new(&CERTIFICATE_OTHER_HOST, chain(), message))
    })
}

/// Where a Secret has its certificate.
fn chain() -> FieldPath {
    FieldPath::of("data").key("tls.crt")
}

fn about(certificate: &Certificate, diagnostic: Diagnostic) -> Diagnostic {
    let origin = certificate.origin();
    diagnostic.about(ObjectKey::new(Kind::Secret, origin.namespace.clone(), origin.name.clone()))
}
