//! Findings about an object, and the conditions and diagnostics that they become.

use std::borrow::Cow;
use std::sync::Arc;

use portcullis_api::status::{Condition, ConditionReason, ConditionStatus, ConditionType};
use portcullis_api::{Diagnostic, FieldPath, ObjectKey};

use crate::causes::Cause;

/// Something that resolution finds fault with, at a field of the object in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) cause: &'static Cause,
    pub(crate) path: FieldPath,
    pub(crate) message: Arc<str>,
    /// What to do, where it can be said more exactly than the cause says it.
    pub(crate) hint: Option<Cow<'static, str>>,
}

impl Finding {
    pub(crate) fn new(cause: &'static Cause, path: FieldPath, message: impl Into<Arc<str>>) -> Finding {
        Finding { cause, path, message: message.into(), hint: None }
    }

    /// A finding that needs no particulars.
    pub(crate) fn plain(cause: &'static Cause, path: FieldPath) -> Finding {
        Finding::new(cause, path, cause.rule.summary)
    }

    pub(crate) fn diagnostic(&self, object: &ObjectKey) -> Diagnostic {
        let diagnostic =
            Diagnostic::new(&self.cause.rule, self.path.clone(), &*self.message).about(object.clone());
        match &self.hint {
            Some(hint) => diagnostic.with_hint(&**hint),
            None => diagnostic,
        }
    }
}

/// The messages of findings in one line, each once.
pub(crate) fn messages<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for finding in findings {
        if !seen.contains(&&*finding.message) {
            seen.push(&finding.message);
        }
    }
    seen.join("; ")
}

/// The conditions of an object or of a part of it, all at one generation.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    generation: i64,
    list: Vec<Condition>,
}

impl Conditions {
    pub(crate) fn at(generation: i64) -> Conditions {
        Conditions { generation, list: Vec::new() }
    }

    /// Adds a condition. Types and reasons are constants of ours, valid by a test.
    pub(crate) fn add(
        &mut self,
        condition_type: &'static str,
        status: ConditionStatus,
        reason: &str,
        message: impl Into<Arc<str>>,
    ) {
        let (Ok(condition_type), Ok(reason)) =
            (ConditionType::new(condition_type), ConditionReason::new(reason))
        else {
            debug_assert!(false, "{condition_type} or {reason} is no valid name");
            return;
        };
        self.list.push(Condition {
            condition_type,
            status,
            observed_generation: Some(self.generation),
            last_transition_time: None,
            reason,
            message: message.into(),
        });
    }

    pub(crate) fn yes(&mut self, condition_type: &'static str, reason: &str, message: impl Into<Arc<str>>) {
        self.add(condition_type, ConditionStatus::True, reason, message);
    }

    pub(crate) fn no(&mut self, condition_type: &'static str, reason: &str, message: impl Into<Arc<str>>) {
        self.add(condition_type, ConditionStatus::False, reason, message);
    }

    pub(crate) fn pending(&mut self, condition_type: &'static str, message: impl Into<Arc<str>>) {
        self.add(condition_type, ConditionStatus::Unknown, "Pending", message);
    }

    /// False with the reason of the first finding and the messages of all; True if there is none.
    pub(crate) fn resolved<'a>(
        &mut self,
        condition_type: &'static str,
        reason: &str,
        message: &str,
        findings: impl IntoIterator<Item = &'a Finding> + Clone,
    ) {
        match findings.clone().into_iter().next() {
            Some(first) => self.no(condition_type, first.cause.reason, messages(findings)),
            None => self.yes(condition_type, reason, message),
        }
    }

    pub(crate) fn finish(self) -> Vec<Condition> {
        self.list
    }
}

/// Condition types.
pub(crate) mod condition {
    pub(crate) const ACCEPTED: &str = "Accepted";
    pub(crate) const PROGRAMMED: &str = "Programmed";
    pub(crate) const RESOLVED_REFS: &str = "ResolvedRefs";
    pub(crate) const CONFLICTED: &str = "Conflicted";
    pub(crate) const OVERLAPPING_TLS: &str = "OverlappingTLSConfig";
    pub(crate) const PARTIALLY_INVALID: &str = "PartiallyInvalid";
    pub(crate) const SUPPORTED_VERSION: &str = "SupportedVersion";
    pub(crate) const ADDRESSES_ASSIGNED: &str = "AddressesAssigned";
    /// A type of our own, as the API has none.
    pub(crate) const POLICY_NOT_APPLIED: &str = "portcullis.dev/PolicyNotApplied";
    pub(crate) const INSECURE_FRONTEND: &str = "InsecureFrontendValidationMode";
}
