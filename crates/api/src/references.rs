//! References from one object to others.

use crate::{
    cel::references,
    names::{Group, KindName, Namespace, ObjectName, SectionName},
    port::PortNumber,
    schema::object,
};
use serde_json::json;

object! {
    /// What a route or ListenerSet attaches to.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct ParentRef {
        /// The group of the parent; the Gateway API's own by default.
        pub group: Group = json!("gateway.networking.k8s.io"),
        /// The kind of the parent; `Gateway` by default.
        pub kind: KindName = json!("Gateway"),
        /// The namespace of the parent; that of the referring object if absent.
        pub namespace: Option<Namespace>,
        /// The name of the parent.
        pub name: ObjectName,
        /// One listener of the parent, by name.
        pub section_name as "sectionName": Option<SectionName>,
        /// The listeners of the parent on this port.
        pub port: Option<PortNumber>,
    }
}

object! {
    /// What a ListenerSet attaches to: a parent without section or port.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct ParentGatewayRef {
        /// The group of the parent; the Gateway API's own by default.
        pub group: Group = json!("gateway.networking.k8s.io"),
        /// The kind of the parent; `Gateway` by default.
        pub kind: KindName = json!("Gateway"),
        /// The name of the parent.
        pub name: ObjectName,
        /// The namespace of the parent; that of the ListenerSet if absent.
        pub namespace: Option<Namespace>,
    }
}

object! {
    /// A backend of a filter: a [`BackendRef`] without weight.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct BackendObjectRef {
        /// The group of the backend; the core group by default.
        pub group: Group = json!(""),
        /// The kind of the backend; `Service` by default.
        pub kind: KindName = json!("Service"),
        /// The name of the backend.
        pub name: ObjectName,
        /// The namespace of the backend; that of the route if absent.
        pub namespace: Option<Namespace>,
        /// The port of the backend: for a Service that of the Service, not of its pods.
        pub port: Option<PortNumber>,
    }
    rules references::BACKEND_REF
}

object! {
    /// A backend and its share of the traffic.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct BackendRef {
        /// The group of the backend; the core group by default.
        pub group: Group = json!(""),
        /// The kind of the backend; `Service` by default.
        pub kind: KindName = json!("Service"),
        /// The name of the backend.
        pub name: ObjectName,
        /// The namespace of the backend; that of the route if absent.
        pub namespace: Option<Namespace>,
        /// The port of the backend: for a Service that of the Service, not of its pods.
        pub port: Option<PortNumber>,
        /// Its share, relative to the sum of weights in its rule; 0 to 1,000,000, by default 1.
        pub weight: u32 [.range(0, 1_000_000)] = json!(1),
    }
    rules references::BACKEND_REF
}

object! {
    /// A Secret, or something else that holds a certificate and its key.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct SecretObjectRef {
        /// The group of the object; the core group by default.
        pub group: Group = json!(""),
        /// The kind of the object; `Secret` by default.
        pub kind: KindName = json!("Secret"),
        /// The name of the object.
        pub name: ObjectName,
        /// The namespace of the object; that of the referring object if absent.
        pub namespace: Option<Namespace>,
    }
}

object! {
    /// An object of any kind, perhaps in another namespace.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct ObjectRef {
        /// The group of the object.
        pub group: Group,
        /// The kind of the object.
        pub kind: KindName,
        /// The name of the object.
        pub name: ObjectName,
        /// The namespace of the object; that of the referring object if absent.
        pub namespace: Option<Namespace>,
    }
}

object! {
    /// An object of any kind in the namespace of the referring object.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct LocalObjectRef {
        /// The group of the object.
        pub group: Group,
        /// The kind of the object.
        pub kind: KindName,
        /// The name of the object.
        pub name: ObjectName,
    }
}

object! {
    /// What a policy applies to, in the policy's own namespace.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct PolicyTargetRef {
        /// The group of the target.
        pub group: Group,
        /// The kind of the target.
        pub kind: KindName,
        /// The name of the target.
        pub name: ObjectName,
        /// A part of the target: a Service's port, by name.
        pub section_name as "sectionName": Option<SectionName>,
    }
}

impl From<&BackendObjectRef> for BackendRef {
    /// With the whole traffic for its share.
    fn from(backend: &BackendObjectRef) -> Self {
        Self {
            group: backend.group.clone(),
            kind: backend.kind.clone(),
            name: backend.name.clone(),
            namespace: backend.namespace.clone(),
            port: backend.port,
            weight: 1,
        }
    }
}

impl From<&BackendRef> for BackendObjectRef {
    fn from(backend: &BackendRef) -> Self {
        Self {
            group: backend.group.clone(),
            kind: backend.kind.clone(),
            name: backend.name.clone(),
            namespace: backend.namespace.clone(),
            port: backend.port,
        }
    }
}
