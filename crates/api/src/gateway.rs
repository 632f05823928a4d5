//! [`Gateway`].

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use serde_json::json;

use crate::{
    cel::{gateways, listeners, references},
    label_selector::LabelSelector,
    listener::{FromNamespaces, Listener, ListenerStatus, MAX_LISTENERS},
    names::ObjectName,
    patterns::{ADDRESS_TYPE, LABEL_VALUE},
    port::PortNumber,
    references::{LocalObjectRef, ObjectRef, SecretObjectRef},
    resource::resource,
    schema::{Required, object, open_enum},
    status::{Condition, MAX_CONDITIONS, pending},
    text::{TextLimits, text},
};

resource! {
    /// Where traffic comes in: addresses and listeners.
    pub struct Gateway: Gateway {
        spec: GatewaySpec,
        status: GatewayStatus = json!({"conditions": pending(&["Accepted", "Programmed"])}),
    }
}

object! {
    /// What a Gateway shall be.
    #[derive(Eq)]
    pub struct GatewaySpec {
        /// The GatewayClass.
        pub gateway_class_name as "gatewayClassName": ObjectName,
        /// Its listeners.
        pub listeners: Vec<Listener> [
            .items(1, MAX_LISTENERS)
            .unique_by("name")
            .rules(listeners::GATEWAY_LISTENERS)
            .item_rules(&[&listeners::FILTERS_NEED_HTTP])
        ] = Required,
        /// Addresses it asks for.
        pub addresses: Vec<GatewayAddress> [
            .max_items(16).addresses().rules(gateways::ADDRESSES)
        ],
        /// What applies to the infrastructure made for it.
        pub infrastructure: Option<Infrastructure>,
        /// From where ListenerSets may attach.
        pub allowed_listeners as "allowedListeners": Option<AllowedListeners>,
        /// TLS towards clients and backends.
        pub tls: Option<GatewayTls>,
        /// Whether routes without parent attach.
        pub default_scope as "defaultScope": Option<DefaultScope>,
    }
}

open_enum! {
    /// Which routes use a default Gateway, or which default Gateways a route uses.
    pub enum DefaultScope {
        /// All.
        All = "All",
        /// None.
        None = "None",
    }
}

object! {
    /// An address that a Gateway asks for; without value, one of the type.
    #[derive(Eq)]
    pub struct GatewayAddress {
        /// Of which type.
        pub address_type as "type": AddressType = json!("IPAddress"),
        /// The address.
        pub value: Option<Arc<str>> [.max_length(253)],
        /// From where it can be reached.
        pub routability: Option<Arc<str>> [.max_length(253).rules(&[&gateways::ROUTABILITY])],
    }
    rules &[&gateways::SPEC_HOSTNAME]
}

/// The routability of addresses that only the cluster's own clients reach (GEP-5093).
pub const CLUSTER_ROUTABILITY: &str = "Cluster";

impl GatewayAddress {
    /// Whether an address of the cluster's ServiceCIDR is asked for.
    pub fn is_in_cluster(&self) -> bool {
        self.routability.as_deref() == Some(CLUSTER_ROUTABILITY)
    }

    /// The address that it names, if it names one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.value.as_deref()?.parse().ok()
    }

    /// Whether it leaves open which address of its type it gets.
    pub fn is_open(&self) -> bool {
        self.value.as_deref().unwrap_or_default().is_empty()
    }
}

open_enum! {
    /// A type of addresses.
    pub enum AddressType limits TextLimits::NONE.min_length(1).max_length(253).pattern(&ADDRESS_TYPE); {
        /// An IPv4 or IPv6 address.
        IpAddress = "IPAddress",
        /// A host name.
        Hostname = "Hostname",
        /// A name that the implementation gives meaning to.
        NamedAddress = "NamedAddress",
    }
}

text! {
    /// The value of a label.
    pub struct LabelValue { max_length: 63, pattern: &LABEL_VALUE }
}

object! {
    /// What applies to the infrastructure made for a Gateway.
    #[derive(Eq)]
    pub struct Infrastructure {
        /// Labels for what is created.
        pub labels: BTreeMap<Arc<str>, LabelValue> [
            .max_properties(8).rules(gateways::LABEL_KEYS)
        ],
        /// Annotations for what is created.
        pub annotations: BTreeMap<Arc<str>, Arc<str>> [
            .max_properties(16).max_length(4096).rules(gateways::LABEL_KEYS)
        ],
        /// Parameters of the implementation.
        pub parameters_ref as "parametersRef": Option<LocalObjectRef>,
    }
}

object! {
    /// From where ListenerSets may attach.
    #[derive(Eq)]
    pub struct AllowedListeners {
        /// From which namespaces; none by default.
        pub namespaces: ListenerNamespaces = json!({"from": "None"}),
    }
}

object! {
    /// Namespaces from which ListenerSets may attach.
    #[derive(Eq)]
    pub struct ListenerNamespaces {
        /// Which.
        pub from: FromNamespaces = json!("None"),
        /// The labels of the namespaces, for `Selector`.
        pub selector: Option<LabelSelector>,
    }
}

object! {
    /// TLS of a Gateway as a whole.
    #[derive(Eq)]
    pub struct GatewayTls {
        /// Towards backends.
        pub backend: Option<GatewayBackendTls>,
        /// Towards clients.
        pub frontend: Option<FrontendTls>,
    }
}

object! {
    /// TLS towards backends.
    #[derive(Eq)]
    pub struct GatewayBackendTls {
        /// The certificate that the Gateway shows to backends.
        pub client_certificate_ref as "clientCertificateRef": Option<SecretObjectRef>,
    }
}

object! {
    /// TLS towards clients, of all listeners that terminate TLS.
    #[derive(Eq)]
    pub struct FrontendTls {
        /// On all ports not in `per_port`.
        pub default: PortTls,
        /// On single ports.
        pub per_port as "perPort": Vec<FrontendPortTls> [
            .max_items(64).unique_by("port").rules(&[&gateways::ONE_ENTRY_PER_PORT])
        ],
    }
}

object! {
    /// TLS towards clients on one port.
    #[derive(Eq)]
    pub struct FrontendPortTls {
        /// The port.
        pub port: PortNumber,
        /// What applies there.
        pub tls: PortTls,
    }
}

object! {
    /// What applies to TLS towards clients.
    #[derive(Eq)]
    pub struct PortTls {
        /// How clients' certificates are checked; absent: not.
        pub validation: Option<ClientValidation>,
    }
}

object! {
    /// How clients' certificates are checked.
    #[derive(Eq)]
    pub struct ClientValidation {
        /// Whom they must come from.
        pub ca_certificate_refs as "caCertificateRefs": Vec<ObjectRef> [
            .items(1, 16).rules(&[&references::TRUST_BUNDLES])
        ] = Required,
        /// What happens without a valid one.
        pub mode: ClientValidationMode = json!("AllowValidOnly"),
    }
}

open_enum! {
    /// What happens to clients without valid certificate.
    pub enum ClientValidationMode {
        /// They are refused.
        AllowValidOnly = "AllowValidOnly",
        /// They are served, and the backend decides.
        AllowInsecureFallback = "AllowInsecureFallback",
    }
}

object! {
    /// How a Gateway is.
    #[derive(Eq, Default)]
    pub struct GatewayStatus {
        /// Addresses it can be reached at.
        pub addresses: Vec<GatewayStatusAddress> [.max_items(16).addresses()],
        /// Verdicts.
        pub conditions: Vec<Condition> [
            .max_items(MAX_CONDITIONS)
            .unique_by("type")

        ] = pending(&["Accepted", "Programmed"]),
        /// Its listeners.
        pub listeners: Vec<ListenerStatus> [.max_items(MAX_LISTENERS).unique_by("name")],
        /// How many ListenerSets are attached.
        pub attached_listener_sets as "attachedListenerSets": Option<i32>,
    }
}

object! {
    /// An address at which a Gateway can be reached.
    #[derive(Eq)]
    pub struct GatewayStatusAddress {
        /// Of which type.
        pub address_type as "type": AddressType = json!("IPAddress"),
        /// The address.
        pub value: Arc<str> [.lengths(1, 253)],
        /// From where it can be reached.
        pub routability: Option<Arc<str>> [.max_length(253).rules(&[&gateways::ROUTABILITY])],
    }
    rules &[&gateways::STATUS_HOSTNAME]
}
