//! The patterns of the CRDs. They are the CRDs' own, to the letter: a pattern that forgets an
//! anchor admits more than it seems to, and so do we.

use std::sync::OnceLock;

use regex::Regex;

/// A regular expression, compiled when first used.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(self.source).ok()).as_ref()
    }

    /// Whether the pattern occurs in `text`; as in Go, it is anchored only where it says so.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }
}

pub(crate) static DNS_SUBDOMAIN: Pattern =
    Pattern::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
pub(crate) static DNS_LABEL: Pattern = Pattern::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
pub(crate) static GROUP: Pattern =
    Pattern::new(r"^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
pub(crate) static KIND: Pattern = Pattern::new(r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$");
pub(crate) static HOSTNAME: Pattern =
    Pattern::new(r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
pub(crate) static FQDN: Pattern =
    Pattern::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.?$");
pub(crate) static PROTOCOL: Pattern = Pattern::new(
    r"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9]+$",
);
pub(crate) static CONTROLLER_NAME: Pattern = Pattern::new(
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$",
);
pub(crate) static ADDRESS_TYPE: Pattern = Pattern::new(
    r"^Hostname|IPAddress|NamedAddress|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$",
);
pub(crate) static LABEL_VALUE: Pattern = Pattern::new(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$");
pub(crate) static LABEL_KEY: Pattern = Pattern::new(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$",
);
pub(crate) static HEADER_NAME: Pattern = Pattern::new(r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$");
pub(crate) static HEADER_VALUE: Pattern = Pattern::new(r"^[!-~]+([\t ]?[!-~]+)*$");
pub(crate) static PATH: Pattern = Pattern::new(r"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$");
pub(crate) static DURATION: Pattern = Pattern::new(r"^([0-9]{1,5}(h|m|s|ms)){1,4}$");
pub(crate) static CORS_ORIGIN: Pattern =
    Pattern::new(r"(^\*$)|(^(http(s)?):\/\/(((\*\.)?([a-zA-Z0-9\-]+\.)*[a-zA-Z0-9-]+|\*)(:([0-9]{1,5}))?)$)");
pub(crate) static WELL_KNOWN_CA: Pattern = Pattern::new(
    r"^(System|([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]))$",
);
pub(crate) static URI: Pattern = Pattern::new(r"^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\?([^#]*))?(#(.*))?");
pub(crate) static IP_ADDRESS: Pattern = Pattern::new(
    r"^((25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$|^(([0-9a-fA-F]{1,4}:){1,7}[0-9a-fA-F]{1,4}|::|(([0-9a-fA-F]{1,4}:){0,5})?(:[0-9a-fA-F]{1,4}){1,2})$",
);
pub(crate) static CONDITION_TYPE: Pattern = Pattern::new(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
);
pub(crate) static CONDITION_REASON: Pattern = Pattern::new(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$");
// No leap second: the API server refuses second 60.
pub(crate) static DATE_TIME: Pattern =
    Pattern::new(r"^\d{4}-\d{2}-\d{2}[tT]\d{2}:\d{2}:[0-5]\d(\.\d+)?([zZ]|[+-]\d{2}:\d{2})$");
pub(crate) static GRPC_SERVICE: Pattern = Pattern::new(r"^(?i)\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$");
pub(crate) static GRPC_METHOD: Pattern = Pattern::new(r"^[A-Za-z_][A-Za-z_0-9]*$");

#[cfg(test)]
pub(crate) static ALL: &[&Pattern] = &[
    &DNS_SUBDOMAIN,
    &DNS_LABEL,
    &GROUP,
    &KIND,
    &HOSTNAME,
    &FQDN,
    &PROTOCOL,
    &CONTROLLER_NAME,
    &ADDRESS_TYPE,
    &LABEL_VALUE,
    &LABEL_KEY,
    &HEADER_NAME,
    &HEADER_VALUE,
    &PATH,
    &DURATION,
    &CORS_ORIGIN,
    &WELL_KNOWN_CA,
    &URI,
    &IP_ADDRESS,
    &CONDITION_TYPE,
    &CONDITION_REASON,
    &DATE_TIME,
    &GRPC_SERVICE,
    &GRPC_METHOD,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in ALL {
            assert!(pattern.regex().is_some(), "{}", pattern.source);
        }
    }

    /// The protocol pattern's second alternative has no `^`, so an API server takes this.
    #[test]
    fn a_missing_anchor_admits_what_it_admits_upstream() {
        assert!(PROTOCOL.matches("!!x.com/bar"));
        assert!(!PROTOCOL.matches("!!x.com/"));
    }
}
