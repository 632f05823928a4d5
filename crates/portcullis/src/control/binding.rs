//! Why a port cannot be bound, and what to do about it.

use std::net::SocketAddr;

use portcullis_model::{BindAddress, Transport};
use portcullis_proxy::BindFailure;

/// The first port that needs no privileges on Linux unless it is told otherwise
/// (`net.ipv4.ip_unprivileged_port_start`).
const UNPRIVILEGED: u16 = 1024;

/// Cause and remedy in one line, for the address that was tried: the model's with the offset.
pub(super) fn message(address: BindAddress, port_offset: u16, failure: &BindFailure) -> String {
    let BindAddress { ip, port, transport } = address;
    let Some(real) = port.checked_add(port_offset) else {
        return format!(
            "cannot listen on {ip}: port {port} and --port-offset {port_offset} add up to more than 65535; lower \
             --port-offset, or give the listener a lower port"
        );
    };
    let address = SocketAddr::new(ip, real);
    let over = match transport {
        Transport::Tcp => "",
        Transport::Udp => "/udp",
    };
    let remedy = match failure {
        BindFailure::InUse => {
            "another process has it (`ss -lntup` names it): stop that, or choose another port"
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
        // Told above, with the numbers.
        BindFailure::PortTooHigh => "lower --port-offset",
        BindFailure::Other(_) => "it is tried again",
    };
    format!("cannot listen on {address}{over}: {failure}; {remedy}")
}

/// The cause as statuses tell it.
pub(super) fn cause(failure: &BindFailure) -> portcullis_store::BindFailure {
    use portcullis_store::BindFailure as Cause;
    match failure {
        BindFailure::InUse => Cause::InUse,
        BindFailure::NoPermission => Cause::NotPermitted,
        BindFailure::NotLocal => Cause::NotLocal,
        BindFailure::PortTooHigh | BindFailure::Other(_) => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn at(port: u16) -> BindAddress {
        BindAddress::tcp(Ipv4Addr::LOCALHOST.into(), port)
    }

    /// Trying again cannot help, and no address has the port that would be needed.
    #[test]
    fn a_port_beyond_the_last_says_which_numbers_to_change() {
        let expected = "cannot listen on 127.0.0.1: port 60000 and --port-offset 18000 add up to more than 65535; \
                        lower --port-offset, or give the listener a lower port";
        assert_eq!(message(at(60_000), 18_000, &BindFailure::PortTooHigh), expected);
        assert!(message(at(443), 18_000, &BindFailure::InUse).contains(" 127.0.0.1:18443: "));
    }

    #[test]
    fn a_privileged_port_has_its_own_remedy() {
        let low = message(at(80), 0, &BindFailure::NoPermission);
        assert!(low.contains("127.0.0.1:80") && low.contains("--port-offset"), "{low}");
        assert!(!message(at(80), 8000, &BindFailure::NoPermission).contains("--port-offset"));
        assert!(message(at(8080), 0, &BindFailure::InUse).contains("ss -lntup"));
    }
}
