//! What a listener says for itself, whatever else there is.

use portcullis_api::listener::{self, Listener, ListenerFilter, ListenerTls, TlsMode};
use portcullis_api::names::SectionName;
use portcullis_api::references::SecretObjectRef;
use portcullis_api::spelling::nearest;
use portcullis_api::{FieldPath, Kind, ObjectKey};
use portcullis_model::{HostPattern, TlsOptions, Transport};

use super::claim::{Claim, Protocol};
use super::{filters, kinds};
use crate::causes::{
    HOSTNAME_IS_ADDRESS, LISTENER_NO_CLIENT_CA, LISTENER_OPTION_DROPPED, LISTENER_OPTION_FOREIGN,
    LISTENER_PROTOCOL, LISTENER_VALUE, NAMESPACE_SELECTOR, PASSTHROUGH_CERTIFICATES,
};
use crate::client_validation::Demand;
use crate::finding::Finding;
use crate::memo::Query;
use crate::namespaces::{Allowed, selector_fault};
use crate::origin::namespace_or;
use crate::tls_options;
use crate::view::View;

/// The listeners of a Gateway, or the entries of a ListenerSet, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeclaredListeners {
    pub(crate) owner: ObjectKey,
}

/// A listener by itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    pub(crate) name: SectionName,
    /// Where it stands in its object.
    pub(crate) path: FieldPath,
    pub(crate) port: u16,
    /// Nothing for a protocol that we do not know.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) hostname: HostPattern,
    /// The kinds of routes that it takes.
    pub(crate) kinds: Vec<Kind>,
    /// The namespaces that it takes routes from.
    pub(crate) namespaces: Allowed,
    /// How it ends TLS, where it does.
    pub(crate) tls: Option<Termination>,
    /// What runs on every request before a rule is looked for, in this order.
    pub(crate) filters: Vec<ListenerFilter>,
    /// What of its own refuses it.
    pub(crate) refusals: Vec<Finding>,
    /// Why it lets nobody in, or serves nobody, though it keeps its port and hostname.
    pub(crate) shut: Vec<Finding>,
    /// Kinds of routes that it lists and cannot take.
    pub(crate) invalid_kinds: Vec<Finding>,
    /// What is worth knowing.
    pub(crate) notes: Vec<Finding>,
}

/// How a listener ends TLS.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Termination {
    pub(crate) certificates: Vec<SecretObjectRef>,
    pub(crate) options: TlsOptions,
}

impl Declared {
    /// What is bound for it.
    pub(crate) fn transports(&self) -> &'static [Transport] {
        self.protocol.map_or(&[Transport::Tcp], Protocol::transports)
    }

    /// What it claims, if its protocol is one that we know.
    pub(crate) fn claim(&self) -> Option<Claim> {
        Some(Claim { port: self.port, protocol: self.protocol?, hostname: self.hostname.clone() })
    }
}

/// The Gateway that a Gateway or ListenerSet belongs to, by what it says.
pub(crate) fn parent_of(view: &View<'_>, owner: &ObjectKey) -> Option<ObjectKey> {
    match owner.kind {
        Kind::Gateway => Some(owner.clone()),
        Kind::ListenerSet => {
            let set = view.listener_set(owner)?;
            let parent = &set.spec.parent_ref;
            let kind = Kind::of(parent.group.as_str(), parent.kind.as_str())?;
            let namespace = namespace_or(parent.namespace.as_ref(), &owner.namespace);
            (kind == Kind::Gateway).then(|| ObjectKey::new(kind, namespace, parent.name.shared()))
        }
        _ => None,
    }
}

impl Query for DeclaredListeners {
    type Value = Vec<Declared>;

    fn compute(&self, view: &View<'_>) -> Vec<Declared> {
        let gateway = view.gateway(&self.owner);
        let set = view.listener_set(&self.owner);
        let listeners = match (&gateway, &set) {
            (Some(gateway), _) => gateway.spec.listeners.as_slice(),
            (None, Some(set)) => set.spec.listeners.as_slice(),
            (None, None) => &[],
        };
        let list = FieldPath::of("spec").field("listeners");
        let parent = parent_of(view, &self.owner);
        let reader = Reader { view, owner: &self.owner, gateway: parent };
        listeners
            .iter()
            .enumerate()
            .map(|(index, listener)| reader.read(listener, list.index(index)))
            .collect()
    }
}

struct Reader<'a> {
    view: &'a View<'a>,
    owner: &'a ObjectKey,
    gateway: Option<ObjectKey>,
}

impl Reader<'_> {
    fn read(&self, listener: &Listener, path: FieldPath) -> Declared {
        let protocol = Protocol::known(listener.protocol.as_str());
        let capabilities = &self.view.engine().capabilities;
        let served = protocol.filter(|protocol| capabilities.protocols.contains(protocol));
        let namespaces = &listener.allowed_routes.namespaces;
        let mut declared = Declared {
            name: listener.name.clone(),
            port: listener.port.get(),
            protocol,
            hostname: hostname(listener, protocol),
            kinds: Vec::new(),
            namespaces: Allowed::read(&namespaces.from, namespaces.selector.as_ref(), &self.owner.namespace),
            tls: None,
            filters: Vec::new(),
            refusals: Vec::new(),
            shut: Vec::new(),
            invalid_kinds: Vec::new(),
            notes: Vec::new(),
            path,
        };
        let path = declared.path.clone();
        if let Some(fault) = selector_fault(&namespaces.from, namespaces.selector.as_ref()) {
            let path = path.fields("allowedRoutes.namespaces.selector");
            declared.notes.push(Finding::new(&NAMESPACE_SELECTOR, path, fault));
        }
        if let Some(host) = listener.hostname.as_ref().filter(|host| host.is_ip_address()) {
            let message = format!("the hostname {host} is an address and matches nothing");
            declared.notes.push(Finding::new(&HOSTNAME_IS_ADDRESS, path.field("hostname"), message));
        }
        if let Some(tls) = listener.tls.as_ref().filter(|tls| tls.mode == TlsMode::Passthrough)
            && (!tls.certificate_refs.is_empty() || !tls.options.is_empty())
        {
            declared.notes.push(Finding::plain(&PASSTHROUGH_CERTIFICATES, path.field("tls")));
        }
        match served {
            Some(protocol) => self.read_served(listener, protocol, &mut declared),
            None => {
                let message = format!("protocol {} is not served", listener.protocol);
                let hint = meant(&listener.protocol).map(|meant| format!("did you mean {meant}?").into());
                let finding = Finding::new(&LISTENER_PROTOCOL, path.field("protocol"), message);
                declared.refusals.push(Finding { hint, ..finding });
            }
        }
        declared
    }

    fn read_served(&self, listener: &Listener, protocol: Protocol, declared: &mut Declared) {
        let path = declared.path.clone();
        let kinds = path.fields("allowedRoutes.kinds");
        (declared.kinds, declared.invalid_kinds) = kinds::supported(
            &listener.allowed_routes.kinds,
            protocol,
            &self.view.engine().capabilities,
            &kinds,
        );
        if matches!(protocol, Protocol::Https | Protocol::Tls | Protocol::Http3) {
            self.read_tls(listener.tls.as_ref(), protocol, declared);
        }
        if matches!(protocol, Protocol::Https | Protocol::Http3) && self.lets_nobody_in(declared.port) {
            declared.shut.push(Finding::plain(&LISTENER_NO_CLIENT_CA, path.clone()));
        }
        if let Some(source) = &listener.filters {
            let path = path.field("filters");
            if filters::are_for(protocol) {
                // Were it refused, a listener for more hosts would take the requests, unfiltered.
                declared.shut.extend(filters::faults(&source.requests, &path.field("requests")));
                declared.filters.clone_from(&source.requests);
            } else {
                declared.refusals.push(filters::misplaced(&listener.protocol, path));
            }
        }
    }

    /// Whether client certificates are demanded and none could be verified.
    fn lets_nobody_in(&self, port: u16) -> bool {
        let Some(gateway) = self.gateway.clone() else { return false };
        let demanded = self.view.get(&Demand { gateway, port });
        demanded.as_ref().as_ref().is_some_and(|demanded| demanded.validation.is_none())
    }

    fn read_tls(&self, tls: Option<&ListenerTls>, protocol: Protocol, declared: &mut Declared) {
        let path = declared.path.field("tls");
        let (certificates, raw) =
            tls.map_or_else(Default::default, |tls| (tls.certificate_refs.clone(), tls.options.clone()));
        if tls.is_some_and(|tls| tls.mode == TlsMode::Passthrough) {
            if protocol == Protocol::Http3 {
                let message = "HTTP/3 cannot be passed through";
                declared.refusals.push(Finding::new(&LISTENER_VALUE, path.field("mode"), message));
            }
            return;
        }
        match tls_options::parse(&raw, protocol, &self.view.engine().capabilities) {
            Ok(options) => {
                let path = path.field("options");
                for key in &options.foreign {
                    let message = format!("tls.options {key} is another implementation's and has no effect");
                    declared.notes.push(Finding::new(&LISTENER_OPTION_FOREIGN, path.key(key), message));
                }
                for dropped in &options.dropped {
                    let message = format!("left out, since the engine lacks it: {dropped}");
                    declared.notes.push(Finding::new(&LISTENER_OPTION_DROPPED, path.clone(), message));
                }
                declared.tls = Some(Termination { certificates, options: options.options });
            }
            Err(faults) => {
                for fault in &faults {
                    let path = path.field("options").key(&fault.key);
                    declared.refusals.push(Finding::new(
                        &LISTENER_VALUE,
                        path,
                        format!("tls.options {fault}"),
                    ));
                }
            }
        }
    }
}

/// The protocol of the API that a protocol of nobody's is a slip of.
fn meant(protocol: &listener::Protocol) -> Option<&'static str> {
    let names = listener::Protocol::NAMES.iter().copied();
    nearest(protocol.as_str(), names).filter(|name| *name != protocol.as_str())
}

/// The hosts of a listener; protocols without hostnames ignore the field.
fn hostname(listener: &Listener, protocol: Option<Protocol>) -> HostPattern {
    match (&listener.hostname, protocol) {
        (Some(host), Some(protocol)) if protocol.has_hostname() => HostPattern::parse(host.as_str()),
        (Some(host), None) => HostPattern::parse(host.as_str()),
        _ => HostPattern::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hint names another protocol than the one that is there.
    #[test]
    fn a_slip_means_the_nearest_protocol() {
        let meant = |text: &str| meant(&serde_json::from_value(text.into()).unwrap());
        assert_eq!(meant("Http"), Some("HTTP"));
        assert_eq!(meant("HTTTPS"), Some("HTTPS"));
        assert_eq!(meant("HTTP"), None);
        assert_eq!(meant("example.com/gopher"), None);
    }
}
