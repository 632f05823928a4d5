//! [`ListenerSet`].

use serde_json::json;

use crate::{
    cel::listeners,
    listener::{Listener, ListenerStatus, MAX_LISTENERS},
    references::ParentGatewayRef,
    resource::resource,
    schema::{Required, object},
    status::{Condition, MAX_CONDITIONS, pending},
};

resource! {
    /// More listeners for a Gateway, perhaps from another namespace.
    pub struct ListenerSet: ListenerSet {
        spec: ListenerSetSpec,
        status: ListenerSetStatus = json!({"conditions": pending(&["Accepted", "Programmed"])}),
    }
}

object! {
    /// What a ListenerSet shall be.
    #[derive(Eq)]
    pub struct ListenerSetSpec {
        /// The Gateway.
        pub parent_ref as "parentRef": ParentGatewayRef,
        /// Its listeners.
        pub listeners: Vec<Listener> [
            .items(1, MAX_LISTENERS)
            .unique_by("name")
            .rules(listeners::SET_LISTENERS)
        ] = Required,
    }
}

object! {
    /// How a ListenerSet is.
    #[derive(Eq, Default)]
    pub struct ListenerSetStatus {
        /// Verdicts.
        pub conditions: Vec<Condition> [
            .max_items(MAX_CONDITIONS)
            .unique_by("type")

        ] = pending(&["Accepted", "Programmed"]),
        /// Its listeners.
        pub listeners: Vec<ListenerStatus> [.max_items(MAX_LISTENERS).unique_by("name")],
    }
}
