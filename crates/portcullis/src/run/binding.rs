//! Why a port cannot be bound, and what to do about it.

use std::net::SocketAddr;

use portcullis_proxy::BindFailure;

/// The first port that needs no privileges on Linux unless it is told otherwise
/// (`net.ipv4.ip_unprivileged_port_start`).
const UNPRIVILEGED: u16 = 1024;

/// Cause and remedy in one line, for an address as the system has it.
pub(super) fn message(address: SocketAddr, failure: &BindFailure) -> String {
    let remedy = match failure {
        BindFailure::InUse => {
            "another process has it (`ss -ltnp` names it): stop that, or choose another port"
        }
        BindFailure::NoPermission if address.port() < UNPRIVILEGED => {
            "ports under 1024 need privileges: run as root, grant CAP_NET_BIND_SERVICE, or use --port-offset"
        }
        BindFailure::NoPermission => {
            "the system does not permit it: look for a security policy that names the port"
        }
        BindFailure::NotLocal => {
            "no interface of this machine has the address: correct it, or bring the interface up"
        }
        BindFailure::Other(_) => "it is tried again",
    };
    format!("cannot listen on {address}: {failure}; {remedy}")
}

/// The cause as statuses tell it.
pub(super) fn cause(failure: &BindFailure) -> portcullis_store::BindFailure {
    use portcullis_store::BindFailure as Cause;
    match failure {
        BindFailure::InUse => Cause::InUse,
        BindFailure::NoPermission => Cause::NotPermitted,
        BindFailure::NotLocal => Cause::NotLocal,
        BindFailure::Other(_) => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_privileged_port_has_its_own_remedy() {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let low = message(at(80), &BindFailure::NoPermission);
        assert!(low.contains("127.0.0.1:80") && low.contains("--port-offset"), "{low}");
        assert!(!message(at(8080), &BindFailure::NoPermission).contains("--port-offset"));
        assert!(message(at(8080), &BindFailure::InUse).contains("ss -ltnp"));
    }
}
