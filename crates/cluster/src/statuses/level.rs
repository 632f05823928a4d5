//! [`Level`]: where conditions stand, and which types of them are ours there.

use portcullis_api::Kind;

/// Where a list of conditions stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// In the status of an object of this kind.
    Object(Kind),
    /// In the status of a listener of a Gateway or ListenerSet.
    Listener,
    /// In our entry of a route's `parents`.
    Parent,
    /// In our entry of a policy's `ancestors`.
    Ancestor,
}

impl Level {
    /// The condition types that we define here. Source: the condition types of `GatewayClassStatus`,
    /// `GatewayStatus`, `ListenerStatus`, `ListenerSetStatus`, `RouteParentStatus` and GEP-713 for policies.
    pub(super) fn types(self) -> &'static [&'static str] {
        match self {
            Self::Object(Kind::GatewayClass) => &["Accepted", "SupportedVersion"],
            Self::Object(Kind::Gateway) => &[
                "Accepted",
                "Programmed",
                "ResolvedRefs",
                "AddressesAssigned",
                "InsecureFrontendValidationMode",
                "DefaultGateway",
                "portcullis.dev/PolicyNotApplied",
            ],
            Self::Object(Kind::Backend) => &["Accepted"],
            Self::Object(_) => &["Accepted", "Programmed"],
            Self::Listener => {
                &["Accepted", "Programmed", "ResolvedRefs", "Conflicted", "OverlappingTLSConfig"]
            }
            Self::Parent => &["Accepted", "ResolvedRefs", "PartiallyInvalid"],
            Self::Ancestor => &["Accepted", "ResolvedRefs"],
        }
    }

    /// The types that the CRD fills in where nobody has judged yet: `Unknown/Pending` since 1970.
    pub(super) fn defaults(self) -> &'static [&'static str] {
        match self {
            Self::Object(Kind::GatewayClass) => &["Accepted"],
            Self::Object(Kind::Backend) => &[],
            Self::Object(_) => &["Accepted", "Programmed"],
            Self::Listener | Self::Parent | Self::Ancestor => &[],
        }
    }
}
