//! [`ReferenceGrant`].

use crate::{
    names::{Group, KindName, Namespace, ObjectName},
    resource::resource,
    schema::{Required, object},
};

resource! {
    /// Permission to refer to objects of the grant's namespace from others. Grants add up.
    pub struct ReferenceGrant: ReferenceGrant {
        spec: ReferenceGrantSpec,
    }
}

object! {
    /// Who may refer to what. Every `from` may refer to every `to`.
    #[derive(Eq)]
    pub struct ReferenceGrantSpec {
        /// Who.
        pub from: Vec<ReferenceGrantFrom> [.items(1, 16)] = Required,
        /// To what.
        pub to: Vec<ReferenceGrantTo> [.items(1, 16)] = Required,
    }
}

object! {
    /// Objects that may refer.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct ReferenceGrantFrom {
        /// Their group.
        pub group: Group,
        /// Their kind.
        pub kind: KindName,
        /// Their namespace.
        pub namespace: Namespace,
    }
}

object! {
    /// Objects that may be referred to.
    #[derive(Eq, PartialOrd, Ord, Hash)]
    pub struct ReferenceGrantTo {
        /// Their group.
        pub group: Group,
        /// Their kind.
        pub kind: KindName,
        /// The name of one; absent: all.
        pub name: Option<ObjectName>,
    }
}
