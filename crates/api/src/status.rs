//! Shapes that the statuses of several kinds share.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

use crate::{
    patterns::{CONDITION_REASON, CONDITION_TYPE, CONTROLLER_NAME},
    references::ParentRef,
    schema::{Required, object, open_enum},
    text::text,
};

/// Conditions per object or part of it, at most.
pub const MAX_CONDITIONS: usize = 8;

text! {
    /// The type of a condition, such as `Accepted`.
    pub struct ConditionType { max_length: 316, pattern: &CONDITION_TYPE }
}

text! {
    /// The reason of a condition, in one word.
    pub struct ConditionReason { min_length: 1, max_length: 1024, pattern: &CONDITION_REASON }
}

text! {
    /// The name of a controller: a domain and a path, such as `portcullis.dev/gateway-controller`.
    pub struct ControllerName { min_length: 1, max_length: 253, pattern: &CONTROLLER_NAME }
}

open_enum! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not.
        False = "False",
        /// It cannot be told (yet).
        Unknown = "Unknown",
    }
}

object! {
    /// A verdict about an object or a part of it.
    #[derive(Eq)]
    pub struct Condition {
        /// What it is about.
        pub condition_type as "type": ConditionType,
        /// Whether it holds.
        pub status: ConditionStatus,
        /// The generation of the object that was judged.
        pub observed_generation as "observedGeneration": Option<i64> [.min(0)],
        /// When `status` last changed. The API requires it; whoever judges leaves it open, and
        /// whoever writes the status fills it in.
        pub last_transition_time as "lastTransitionTime": Option<Timestamp> = Required,
        /// Why, in one word.
        pub reason: ConditionReason,
        /// Why, in a sentence.
        pub message: Arc<str> [.max_length(32_768)],
    }
}

impl Condition {
    /// Whether both say the same, whenever it began.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.condition_type == other.condition_type
            && self.status == other.status
            && self.observed_generation == other.observed_generation
            && self.reason == other.reason
            && self.message == other.message
    }
}

/// How the condition of a type stands among these; none where it is not among them.
#[must_use]
pub fn verdict<'a>(conditions: &'a [Condition], condition_type: &str) -> Option<&'a ConditionStatus> {
    let condition = conditions.iter().find(|condition| condition.condition_type.as_str() == condition_type);
    condition.map(|condition| &condition.status)
}

object! {
    /// The status of a route: a verdict per parent.
    #[derive(Eq, Default)]
    pub struct RouteStatus {
        /// Verdicts, of all controllers.
        pub parents: Vec<RouteParentStatus> [.max_items(32)] = Required,
    }
}

object! {
    /// What one controller says about a route under one parent.
    #[derive(Eq)]
    pub struct RouteParentStatus {
        /// The parent, as the route's spec names it.
        pub parent_ref as "parentRef": ParentRef,
        /// The controller that wrote this entry.
        pub controller_name as "controllerName": ControllerName,
        /// Its verdicts.
        pub conditions: Vec<Condition> [.items(1, MAX_CONDITIONS).unique_by("type")] = Required,
    }
}

object! {
    /// The status of a policy: a verdict per Gateway that it concerns.
    #[derive(Eq, Default)]
    pub struct PolicyStatus {
        /// Verdicts, of all controllers.
        pub ancestors: Vec<PolicyAncestorStatus> [.max_items(16)] = Required,
    }
}

object! {
    /// What one controller says about a policy under one ancestor.
    #[derive(Eq)]
    pub struct PolicyAncestorStatus {
        /// The ancestor: as a rule a Gateway.
        pub ancestor_ref as "ancestorRef": ParentRef,
        /// The controller that wrote this entry.
        pub controller_name as "controllerName": ControllerName,
        /// Its verdicts.
        pub conditions: Vec<Condition> [.items(1, MAX_CONDITIONS).unique_by("type")] = Required,
    }
}

/// A status of conditions that wait for a controller, as the CRDs default it.
pub(crate) fn pending(types: &[&str]) -> serde_json::Value {
    types
        .iter()
        .map(|condition| {
            serde_json::json!({
                "type": condition,
                "status": "Unknown",
                "reason": "Pending",
                "message": "Waiting for controller",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
            })
        })
        .collect()
}
