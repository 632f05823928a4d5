//! Host names.

use std::net::IpAddr;

use crate::{
    patterns::{DNS_SUBDOMAIN, HOSTNAME},
    text::text,
};

text! {
    /// A host name in lower case, perhaps with `*.` in front, which then stands for any number of
    /// labels. Never with a trailing dot.
    pub struct Hostname { min_length: 1, max_length: 253, pattern: &HOSTNAME }
}

text! {
    /// A host name without wildcard.
    pub struct PreciseHostname { min_length: 1, max_length: 253, pattern: &DNS_SUBDOMAIN }
}

impl Hostname {
    /// For `*.example.com` the part after `*.`.
    pub fn wildcard_suffix(&self) -> Option<&str> {
        self.strip_prefix("*.")
    }

    /// Whether it begins with `*.`.
    pub fn is_wildcard(&self) -> bool {
        self.starts_with("*.")
    }

    /// Whether it is an IPv4 address, which the CRD's pattern lets through.
    pub fn is_ip_address(&self) -> bool {
        self.parse::<IpAddr>().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_is_the_first_label_alone() {
        let suffix = |text: &str| {
            let host = Hostname::new(text).ok()?;
            host.wildcard_suffix().map(str::to_owned)
        };
        assert_eq!(suffix("*.example.com"), Some("example.com".to_owned()));
        assert_eq!(suffix("example.com"), None);
        for wrong in ["*", "a.*.com", "*a.com", "Example.com", "example.com.", "a..b", ""] {
            assert!(Hostname::new(wrong).is_err(), "{wrong}");
        }
        assert!(PreciseHostname::new("*.example.com").is_err());
    }

    #[test]
    fn an_address_passes_the_pattern_and_is_told_apart() {
        assert!(Hostname::new("192.0.2.1").is_ok_and(|host| host.is_ip_address()));
        assert!(Hostname::new("192.0.2.com").is_ok_and(|host| !host.is_ip_address()));
    }
}
