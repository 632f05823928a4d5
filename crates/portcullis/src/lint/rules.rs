//! The rules of lint.

use portcullis_api::{Rule, Severity};

macro_rules! rules {
    ($($(#[$meta:meta])* $name:ident = $code:literal $severity:ident: $summary:literal, $hint:literal;)+) => {
        $(
            $(#[$meta])*
            pub(super) static $name: Rule =
                Rule { code: $code, severity: Severity::$severity, summary: $summary, hint: $hint };
        )+

        /// Every rule of lint, by code.
        pub(crate) static RULES: &[&Rule] = &[$(&$name),+];
    };
}

rules! {
    SHADOWED = "PC0701" Warning: "a match that no request reaches",
        "remove it, or make it more specific than the one that the message names";
    CERTIFICATE_EXPIRED = "PC0710" Warning: "a certificate that has expired",
        "renew it: it is still served, and clients will refuse it";
    CERTIFICATE_ENDS_SOON = "PC0711" Warning: "a certificate that expires soon",
        "renew it";
    CERTIFICATE_OTHER_HOST = "PC0712" Warning: "a certificate without the listener's hostname",
        "clients will refuse it: name the hostname among its subject alternative names";
    UNUSED_BACKEND = "PC0720" Info: "a backend that nothing leads to",
        "nothing needs to change";
    UNUSED_CERTIFICATE = "PC0721" Info: "a certificate that no listener uses",
        "nothing needs to change";
    UNUSED_LISTENER = "PC0722" Info: "a listener that no route is attached to",
        "it answers 404 to everything until a route is";
    NO_ENDPOINTS = "PC0723" Info: "a backend without endpoints in these files",
        "in a cluster they come by themselves; from files add an EndpointSlice, or try run --echo";
}
