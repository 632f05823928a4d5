//! Everything that resolution finds fault with: one table, from which conditions, `check`, logs and the
//! reference of diagnostics are rendered.

use portcullis_api::{Rule, Severity};

/// A kind of finding, and the reason that conditions give for it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// How the finding is called in diagnostics.
    pub rule: Rule,
    /// The reason that a condition gives for it; empty where no condition does.
    pub reason: &'static str,
}

macro_rules! causes {
    ($($(#[$heading:meta])* $name:ident = $code:literal $severity:ident $reason:literal, $summary:literal, $hint:literal;)+) => {
        $(
            pub(crate) static $name: Cause = Cause {
                rule: Rule { code: $code, severity: Severity::$severity, summary: $summary, hint: $hint },
                reason: $reason,
            };
        )+

        /// Every cause, by code.
        pub const CAUSES: &[&Cause] = &[$(&$name),+];
    };
}

causes! {
    // Gateway classes and Gateways.
    CLASS_PARAMETERS = "PC0301" Error "InvalidParameters",
        "the class's parametersRef cannot be used",
        "remove parametersRef, or name an object of a kind that this controller takes";
    CLASS_PARAMETERS_IGNORED = "PC0302" Warning "",
        "the class's parametersRef has no effect here",
        "nothing needs to change: it is meant for another controller";
    CLASS_MISSING = "PC0303" Warning "",
        "the Gateway's class does not exist or is not ours",
        "create a GatewayClass of this name, or correct spec.gatewayClassName";
    CLASS_REFUSED = "PC0304" Warning "Pending",
        "the Gateway's class is refused",
        "see the GatewayClass's own conditions";
    GATEWAY_PARAMETERS = "PC0305" Error "InvalidParameters",
        "the Gateway's infrastructure.parametersRef cannot be used",
        "remove parametersRef, or name an object of a kind that this controller takes";
    GATEWAY_PARAMETERS_IGNORED = "PC0306" Warning "",
        "the Gateway's infrastructure.parametersRef has no effect here",
        "nothing needs to change: it is meant for another controller";
    ADDRESS_UNSUPPORTED = "PC0307" Error "UnsupportedAddress",
        "an address of the Gateway is of a type that cannot be had",
        "ask for type IPAddress, with an address of this machine or without value";
    ADDRESS_NOT_USABLE = "PC0308" Error "AddressNotUsable",
        "an address of the Gateway cannot be bound",
        "ask for an address that this machine has";
    ADDRESS_NOT_ASSIGNED = "PC0309" Error "AddressNotAssigned",
        "the Gateway has no address",
        "ask for an address that can be had, or for none";
    ADDRESSES_PARTLY_ASSIGNED = "PC0310" Warning "PartiallyAssigned",
        "an address of the Gateway cannot be had with the routability it asks for",
        "remove routability from the address";
    ADDRESSES_NOT_ASSIGNED = "PC0311" Error "NotAssigned",
        "no address of the Gateway can be had with the routability it asks for",
        "remove routability from the addresses";
    GATEWAY_LISTENERS_NOT_VALID = "PC0312" Error "ListenersNotValid",
        "listeners of the Gateway are not accepted",
        "see the conditions of the listeners that the message names";
    GATEWAY_INVALID = "PC0313" Error "Invalid",
        "no listener of the Gateway can be served",
        "see the conditions of its listeners";
    GATEWAY_LISTENERS_NOT_RESOLVED = "PC0314" Error "ListenersNotResolved",
        "references of the Gateway's listeners are not resolved",
        "see the conditions of the listeners that the message names";
    CLIENT_CERTIFICATE_REF = "PC0315" Error "InvalidClientCertificateRef",
        "the Gateway's client certificate for backends cannot be used",
        "name a Secret with a certificate in tls.crt and the key that fits it in tls.key";
    DEFAULT_GATEWAY_NO_EFFECT = "PC0316" Info "",
        "default Gateways have no effect yet",
        "name the Gateway in the parentRefs of its routes";
    // Listeners.
    LISTENER_PROTOCOL = "PC0320" Error "UnsupportedProtocol",
        "the listener's protocol is not served",
        "use HTTP, HTTPS, TLS, TCP, UDP or microgateway.airlock.com/http3";
    LISTENER_VALUE = "PC0321" Error "UnsupportedValue",
        "a value of the listener is not supported",
        "correct or remove the TLS options or filters that the message names";
    LISTENER_NO_CLIENT_CA = "PC0322" Error "NoValidCACertificate",
        "client certificates are demanded, and no CA certificate for them can be used, so nobody gets in",
        "see the condition ResolvedRefs";
    LISTENER_HOSTNAME_CONFLICT = "PC0324" Error "HostnameConflict",
        "another listener has the same port, protocol and hostname",
        "give the listener a hostname or port of its own";
    LISTENER_PROTOCOL_CONFLICT = "PC0325" Error "ProtocolConflict",
        "another listener has the same port and a protocol that cannot share it",
        "give the listener a port of its own";
    LISTENER_PORT_SHARED = "PC0326" Error "PortUnavailable",
        "an older Gateway at the same address serves this port and hostname",
        "give the Gateway an address, or the listener a port or hostname, of its own";
    LISTENER_PORT_IN_USE = "PC0327" Error "PortUnavailable",
        "the listener's port cannot be bound",
        "stop what uses the port, or choose another";
    LISTENER_ROUTE_KINDS = "PC0328" Error "InvalidRouteKinds",
        "the listener allows a kind of route that it cannot take",
        "list only kinds that fit the listener's protocol";
    LISTENER_OVERLAPPING_HOSTNAMES = "PC0330" Info "OverlappingHostnames",
        "the listener's hostname overlaps another's on the same port",
        "clients that reuse a connection for another name get 421 and connect anew; nothing needs to change";
    LISTENER_OVERLAPPING_CERTIFICATES = "PC0331" Info "OverlappingCertificates",
        "the listener's certificate has names that another's on the same port has too",
        "clients that reuse a connection for another name get 421 and connect anew; nothing needs to change";
    LISTENER_OPTION_FOREIGN = "PC0332" Info "",
        "a TLS option of another implementation has no effect",
        "nothing needs to change: it is meant for another controller";
    LISTENER_OPTION_DROPPED = "PC0333" Warning "",
        "a TLS option has values that the engine lacks",
        "remove the values that the message names; the others are in effect";
    HOSTNAME_IS_ADDRESS = "PC0334" Error "",
        "a hostname is an IP address and matches nothing",
        "leave the hostname out to take requests to the address";
    NAMESPACE_SELECTOR = "PC0335" Warning "",
        "a namespace selector selects nothing",
        "give the selector matchLabels or matchExpressions that mean something";
    PASSTHROUGH_CERTIFICATES = "PC0336" Warning "",
        "certificates and options have no effect where TLS is passed through",
        "remove certificateRefs and options, or use mode Terminate";
    LISTENER_FILTER_INVALID = "PC0337" Error "InvalidListenerFilter",
        "a filter of the listener is invalid",
        "correct the filter that the message names: until then nothing is served unfiltered";
    LISTENER_FILTER_REF = "PC0338" Error "InvalidListenerFilterRef",
        "a filter of the listener refers to what cannot be used, so all requests are answered with 500",
        "correct the reference that the message names";
    LISTENER_FILTER_HOST = "PC0339" Warning "",
        "a filter of the listener would change the host, which has no effect",
        "remove host from allowedResponseHeaders";
    // ListenerSets.
    SET_NOT_ALLOWED = "PC0340" Error "NotAllowed",
        "the Gateway does not take ListenerSets of this namespace",
        "let the Gateway's allowedListeners admit the namespace";
    SET_PARENT_NOT_ACCEPTED = "PC0341" Error "ParentNotAccepted",
        "the Gateway is not accepted",
        "see the Gateway's own conditions";
    SET_PARENT_NOT_PROGRAMMED = "PC0342" Error "ParentNotProgrammed",
        "the Gateway is not programmed",
        "see the Gateway's own conditions";
    SET_LISTENERS_NOT_VALID = "PC0343" Error "ListenersNotValid",
        "listeners of the ListenerSet cannot be served",
        "see the conditions of the listeners that the message names";
    SET_PARENT_UNKNOWN = "PC0344" Warning "",
        "the ListenerSet's parent does not exist or is not ours",
        "correct spec.parentRef";
    // Gateway classes and Gateways once more.
    BUNDLE_VERSION_UNKNOWN = "PC0345" Warning "UnsupportedVersion",
        "the cluster's Gateway API CRDs are of a release that is not known",
        "install the CRDs of a release from v1.4 to v1.7; what is read of others is understood as far as it is known";
    GATEWAY_POLICY_UNAPPLIED = "PC0346" Error "NoRoomInStatus",
        "a policy has no room in its status for this Gateway, so that it is not in effect here and its backends get no traffic",
        "remove entries from the policy's status.ancestors that their controllers have left there, or split the policy";
    // Routes.
    ROUTE_NO_MATCHING_PARENT = "PC0401" Error "NoMatchingParent",
        "no listener of the parent has the section name and port that the route names",
        "correct sectionName and port of the parentRef";
    ROUTE_NOT_ALLOWED = "PC0402" Error "NotAllowedByListeners",
        "no listener of the parent takes routes of this kind and namespace",
        "let allowedRoutes of a listener admit the route's namespace and kind";
    ROUTE_NO_MATCHING_HOSTNAME = "PC0403" Error "NoMatchingListenerHostname",
        "no hostname of the route is served by a listener of the parent",
        "give the route a hostname that falls under the listener's";
    ROUTE_PARENT_UNKNOWN = "PC0404" Warning "",
        "a parent of the route does not exist or is not ours",
        "correct the parentRef";
    RULE_VALUE = "PC0410" Error "UnsupportedValue",
        "a value of the rule is not supported",
        "correct the value that the message names";
    RULE_FILTERS = "PC0411" Error "IncompatibleFilters",
        "filters of the rule cannot go together",
        "remove one of the filters that the message names";
    RULE_EXTENSION = "PC0412" Error "InvalidKind",
        "a filter of the rule refers to a kind that is not known",
        "remove the filter, or refer to a kind that this controller knows";
    RULE_SESSION_NO_EFFECT = "PC0414" Info "",
        "session persistence has no effect yet",
        "nothing needs to change";
    RULE_NO_BACKENDS = "PC0415" Warning "",
        "the rule has no backend and answers 500",
        "add backendRefs, or a RequestRedirect filter";
    RULE_ZERO_WEIGHT = "PC0416" Warning "",
        "all backends of the rule have weight 0, so it answers 503",
        "give a backend a weight above 0";
    ROUTE_NO_PARENT = "PC0417" Warning "",
        "the route names no parent and is served nowhere",
        "name a Gateway or ListenerSet in parentRefs";
    L4_ZERO_WEIGHT = "PC0418" Warning "",
        "all backends of the route have weight 0, so its connections are closed and its datagrams dropped",
        "give a backend a weight above 0";
    L4_RULE_IGNORED = "PC0419" Warning "",
        "the route's first rule takes everything, so this one has no effect",
        "list all backends in the first rule";
    RULE_HEADER_NO_EFFECT = "PC0420" Warning "",
        "a header that a filter changes is written by whoever sends a message, so the change has no effect",
        "take Connection, Content-Length, Keep-Alive, Proxy-Connection, TE, Transfer-Encoding and Upgrade out of the filter";
    RULE_BESIDE_REDIRECT = "PC0421" Info "",
        "a rule that redirects sends no request to a backend, so what changes or copies requests has no effect",
        "take RequestHeaderModifier and RequestMirror out of the rule";
    // Backends and grants.
    BACKEND_NOT_FOUND = "PC0501" Error "BackendNotFound",
        "the backend does not exist",
        "create the Service, or correct name, namespace and port of the backendRef";
    BACKEND_KIND = "PC0502" Error "InvalidKind",
        "the backend is of a kind that is not known",
        "refer to a Service or a Backend of gateway.envoyproxy.io";
    REF_NOT_PERMITTED = "PC0503" Error "RefNotPermitted",
        "no ReferenceGrant permits the reference into another namespace",
        "create a ReferenceGrant in the namespace that is referred to";
    BACKEND_PROTOCOL = "PC0504" Error "UnsupportedProtocol",
        "the backend speaks a protocol that the route cannot speak",
        "use a port without appProtocol, or with http, kubernetes.io/h2c or, for HTTPRoutes, kubernetes.io/ws";
    BACKEND_VALUE = "PC0505" Error "UnsupportedValue",
        "the backend is of a sort that is not forwarded to",
        "use a Service with endpoints of its own";
    BACKEND_GUARDED = "PC0506" Error "",
        "TLS to the backend is demanded and cannot be spoken, so requests fail with 500",
        "see the conditions of the BackendTLSPolicy; for a Backend with tls of its own, use a BackendTLSPolicy instead";
    BACKEND_LOOPBACK = "PC0507" Info "",
        "the backend leads to this machine itself",
        "nothing needs to change where the file is for one machine";
    BACKEND_ENDPOINT_IGNORED = "PC0508" Warning "",
        "an endpoint of the backend cannot be used",
        "correct the endpoint's address and port";
    BACKEND_FALLBACK_NO_EFFECT = "PC0509" Info "",
        "fallback backends have no effect yet",
        "nothing needs to change";
    POLICY_INVALID = "PC0510" Error "Invalid",
        "the policy demands what cannot be enforced, so its targets get no traffic",
        "correct or remove what the message names";
    BACKEND_OUT_OF_SCOPE = "PC0511" Error "UnsupportedValue",
        "a backend of a cluster may not be on this machine or its link",
        "lead to a Service, or allow the network with --allow-backend";
    POLICY_CONFLICTED = "PC0512" Error "Conflicted",
        "another policy, older or first by name, governs the target",
        "remove one of the policies, or let one name a port in sectionName";
    POLICY_TARGET = "PC0513" Error "TargetNotFound",
        "the policy's target, or the port of it that the policy names, does not exist",
        "name a Service, or a port of it by its name, in the policy's namespace";
    POLICY_NO_CA = "PC0514" Error "NoValidCACertificate",
        "no CA certificate of the policy can be used, so its targets get no traffic",
        "see the condition ResolvedRefs";
    POLICY_CA_REF = "PC0515" Error "InvalidCACertificateRef",
        "a CA certificate of the policy cannot be used",
        "name a ConfigMap with PEM certificates in ca.crt, in the policy's namespace";
    POLICY_CA_KIND = "PC0516" Error "InvalidKind",
        "a CA certificate is of a kind that is not known",
        "refer to a ConfigMap, a Secret or a ClusterTrustBundle";
    SLICE_APP_PROTOCOL_NO_EFFECT = "PC0517" Info "",
        "the appProtocol of an EndpointSlice has no effect where its Service says another",
        "write it to the Service's port: what a route can speak is decided there";
    // TLS.
    CERTIFICATE_REF = "PC0601" Error "InvalidCertificateRef",
        "a certificate of the listener cannot be used",
        "name a Secret with a certificate in tls.crt and the key that fits it in tls.key";
    CERTIFICATE_NOT_PERMITTED = "PC0602" Error "RefNotPermitted",
        "no ReferenceGrant permits the reference to a certificate in another namespace",
        "create a ReferenceGrant in the Secret's namespace";
    CERTIFICATE_MISSING = "PC0603" Error "InvalidCertificateRef",
        "the listener ends TLS and names no certificate",
        "add certificateRefs";
    CLIENT_CA_NOT_PERMITTED = "PC0604" Error "RefNotPermitted",
        "no ReferenceGrant permits the Gateway's reference to a CA certificate for clients in another namespace",
        "create a ReferenceGrant in the namespace that is referred to, from Gateways";
    CLIENT_CA_KIND = "PC0605" Error "InvalidCACertificateKind",
        "a CA certificate for clients is of a kind that is not known",
        "refer to a ConfigMap, a Secret or a ClusterTrustBundle";
    CLIENT_CA_REF = "PC0606" Error "InvalidCACertificateRef",
        "a CA certificate for clients cannot be used",
        "name a ConfigMap with PEM certificates in ca.crt";
    CLIENT_VALIDATION_INSECURE = "PC0607" Warning "",
        "clients without a valid certificate are served on some port (AllowInsecureFallback)",
        "use AllowValidOnly, unless backends decide by x-forwarded-client-cert";
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_api::status::ConditionReason;

    /// Codes are stable names: no two causes share one, and the table is in their order.
    #[test]
    fn codes_ascend() {
        let codes: Vec<&str> = CAUSES.iter().map(|cause| cause.rule.code).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    }

    /// What a condition gives as its reason must be one by the CRD's pattern.
    #[test]
    fn reasons_are_valid() {
        for cause in CAUSES.iter().filter(|cause| !cause.reason.is_empty()) {
            assert!(ConditionReason::new(cause.reason).is_ok(), "{cause:?}");
        }
    }
}
