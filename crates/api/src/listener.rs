//! What Gateways and ListenerSets say about their listeners alike.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use crate::{
    cel::{filters, listeners},
    external_auth::ExternalAuth,
    hostname::Hostname,
    label_selector::LabelSelector,
    names::{Group, KindName, SectionName},
    patterns::PROTOCOL,
    port::PortNumber,
    references::{LocalObjectRef, SecretObjectRef},
    schema::{Required, object, open_enum},
    status::{Condition, MAX_CONDITIONS},
    text::TextLimits,
};

/// Listeners per Gateway or ListenerSet, at most.
pub const MAX_LISTENERS: usize = 64;

object! {
    /// A port on which connections are accepted, of a Gateway or (there called an entry) of a
    /// ListenerSet.
    ///
    /// Source: `Gateway.spec.listeners`, `ListenerSet.spec.listeners`.
    #[derive(Eq)]
    pub struct Listener {
        /// Its name, unique within the object.
        pub name: SectionName,
        /// The hosts it serves; absent: all.
        pub hostname: Option<Hostname>,
        /// The port it accepts connections on.
        pub port: PortNumber,
        /// What it speaks.
        pub protocol: Protocol,
        /// TLS, where the protocol has it.
        pub tls: Option<ListenerTls>,
        /// Which routes may attach; by default those of its own namespace.
        pub allowed_routes as "allowedRoutes": AllowedRoutes = json!({"namespaces": {"from": "Same"}}),
        /// Filters for all requests.
        pub filters: Option<ListenerFilters>,
    }
}

open_enum! {
    /// What a listener speaks.
    pub enum Protocol limits TextLimits::NONE.min_length(1).max_length(255).pattern(&PROTOCOL); {
        /// HTTP in clear.
        Http = "HTTP",
        /// HTTP over TLS.
        Https = "HTTPS",
        /// TLS, routed by server name.
        Tls = "TLS",
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
    }
}

object! {
    /// TLS of a listener.
    #[derive(Eq)]
    pub struct ListenerTls {
        /// Whether TLS ends here.
        pub mode: TlsMode = json!("Terminate"),
        /// Certificates and their keys.
        pub certificate_refs as "certificateRefs": Vec<SecretObjectRef> [.max_items(64)],
        /// Options of the implementation.
        pub options: BTreeMap<Arc<str>, Arc<str>> [.max_properties(16).max_length(4096)],
    }
    rules &[&listeners::TERMINATION_HAS_CERTIFICATES]
}

open_enum! {
    /// Where TLS ends.
    pub enum TlsMode {
        /// At the gateway.
        Terminate = "Terminate",
        /// At the backend.
        Passthrough = "Passthrough",
    }
}

object! {
    /// Which routes may attach to a listener.
    #[derive(Eq)]
    pub struct AllowedRoutes {
        /// From which namespaces.
        pub namespaces: RouteNamespaces = json!({"from": "Same"}),
        /// Of which kinds; none listed: those that fit the protocol.
        pub kinds: Vec<RouteGroupKind> [.max_items(8)],
    }
}

object! {
    /// Namespaces from which routes may attach.
    #[derive(Eq)]
    pub struct RouteNamespaces {
        /// Which.
        pub from: FromNamespaces [.one_of(&["All", "Selector", "Same"])] = json!("Same"),
        /// The labels of the namespaces, for `Selector`.
        pub selector: Option<LabelSelector>,
    }
}

open_enum! {
    /// A choice of namespaces.
    pub enum FromNamespaces {
        /// Every namespace.
        All = "All",
        /// Namespaces with the labels of a selector.
        Selector = "Selector",
        /// The namespace of the object that allows.
        Same = "Same",
        /// No namespace. Only for ListenerSets.
        None = "None",
    }
}

object! {
    /// A kind of route.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct RouteGroupKind {
        /// The group of the kind; the Gateway API's own by default.
        pub group: Group = json!("gateway.networking.k8s.io"),
        /// The kind.
        pub kind: KindName,
    }
}

object! {
    /// Filters of a listener.
    #[derive(Eq)]
    pub struct ListenerFilters {
        /// Filters for requests, in order.
        pub requests: Vec<ListenerFilter> [.max_items(16)],
    }
}

object! {
    /// One filter of a listener.
    #[derive(Eq)]
    pub struct ListenerFilter {
        /// Which of the fields applies.
        pub filter_type as "type": ListenerFilterType,
        /// Asks a service whether the request may pass.
        pub external_auth as "externalAuth": Option<ExternalAuth>,
        /// A filter of the implementation.
        pub extension_ref as "extensionRef": Option<LocalObjectRef>,
    }
    rules filters::LISTENER_FILTER
}

open_enum! {
    /// Types of listener filters.
    pub enum ListenerFilterType {
        /// `externalAuth` applies.
        ExternalAuth = "ExternalAuth",
        /// `extensionRef` applies.
        ExtensionRef = "ExtensionRef",
    }
}

object! {
    /// The status of one listener.
    #[derive(Eq)]
    pub struct ListenerStatus {
        /// The listener.
        pub name: SectionName,
        /// The kinds of routes that may attach, among those it names.
        pub supported_kinds as "supportedKinds": Vec<RouteGroupKind> [.max_items(8)],
        /// How many routes are attached.
        pub attached_routes as "attachedRoutes": i32,
        /// Verdicts.
        pub conditions: Vec<Condition> [.max_items(MAX_CONDITIONS).unique_by("type")] = Required,
    }
}
