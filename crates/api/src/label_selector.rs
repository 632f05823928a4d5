//! [`LabelSelector`]: choosing objects by label.

use std::{collections::BTreeMap, sync::Arc};

use thiserror::Error;

use crate::schema::{object, open_enum};

object! {
    /// Chooses objects by their labels; all requirements must hold, and none chooses all.
    ///
    /// Source: `io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector`.
    #[derive(Eq, Hash, Default)]
    pub struct LabelSelector {
        /// Labels with exactly these values.
        pub match_labels as "matchLabels": BTreeMap<Arc<str>, Arc<str>>,
        /// Further requirements.
        pub match_expressions as "matchExpressions": Vec<LabelRequirement>,
    }
}

object! {
    /// One requirement of a [`LabelSelector`].
    #[derive(Eq, Hash)]
    pub struct LabelRequirement {
        /// The label.
        pub key: Arc<str>,
        /// How `values` count.
        pub operator: LabelOperator,
        /// Values for `In` and `NotIn`; none for the others.
        pub values: Vec<Arc<str>>,
    }
}

open_enum! {
    /// How a requirement compares. The CRD admits any string.
    pub enum LabelOperator limits crate::text::TextLimits::NONE; {
        /// The label has one of the values.
        In = "In",
        /// The label is absent or has none of the values.
        NotIn = "NotIn",
        /// The label is there.
        Exists = "Exists",
        /// The label is absent.
        DoesNotExist = "DoesNotExist",
    }
}

/// A selector that the CRD admits and that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidSelector {
    /// An operator that does not exist.
    #[error("operator {0} does not exist; use In, NotIn, Exists or DoesNotExist")]
    Operator(Arc<str>),
    /// `In` or `NotIn` without values.
    #[error("{0} needs values")]
    NoValues(LabelOperator),
    /// `Exists` or `DoesNotExist` with values.
    #[error("{0} takes no values")]
    Values(LabelOperator),
}

impl LabelSelector {
    /// Whether it chooses an object with these labels.
    ///
    /// # Errors
    /// If a requirement means nothing, whatever the labels are.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, InvalidSelector> {
        let mut all = self
            .match_labels
            .iter()
            .all(|(key, value)| labels.get(&**key).is_some_and(|label| **label == **value));
        for requirement in &self.match_expressions {
            all &= requirement.matches(labels)?;
        }
        Ok(all)
    }

    /// Whether every requirement means something.
    ///
    /// # Errors
    /// The first that does not.
    pub fn validate(&self) -> Result<(), InvalidSelector> {
        self.matches(&BTreeMap::new()).map(|_| ())
    }
}

impl LabelRequirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, InvalidSelector> {
        let label = labels.get(&*self.key);
        let listed = label.is_some_and(|label| self.values.iter().any(|value| **value == **label));
        match &self.operator {
            LabelOperator::In | LabelOperator::NotIn if self.values.is_empty() => {
                Err(InvalidSelector::NoValues(self.operator.clone()))
            }
            LabelOperator::Exists | LabelOperator::DoesNotExist if !self.values.is_empty() => {
                Err(InvalidSelector::Values(self.operator.clone()))
            }
            LabelOperator::In => Ok(listed),
            LabelOperator::NotIn => Ok(!listed),
            LabelOperator::Exists => Ok(label.is_some()),
            LabelOperator::DoesNotExist => Ok(label.is_none()),
            LabelOperator::Other(operator) => Err(InvalidSelector::Operator(operator.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chooses(selector: serde_json::Value, labels: &[(&str, &str)]) -> Option<bool> {
        let selector: LabelSelector = serde_json::from_value(selector).ok()?;
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        selector.matches(&labels.collect()).ok()
    }

    #[test]
    fn all_requirements_must_hold() {
        let selector = json!({
            "matchLabels": {"team": "a"},
            "matchExpressions": [{"key": "env", "operator": "In", "values": ["dev", "test"]}]
        });
        assert_eq!(chooses(selector.clone(), &[("team", "a"), ("env", "dev")]), Some(true));
        assert_eq!(chooses(selector.clone(), &[("team", "b"), ("env", "dev")]), Some(false));
        assert_eq!(chooses(selector, &[("team", "a")]), Some(false));
        assert_eq!(chooses(json!({}), &[]), Some(true));
    }

    #[test]
    fn not_in_holds_where_the_label_is_absent() {
        let selector =
            |operator| json!({"matchExpressions": [{"key": "k", "operator": operator, "values": ["v"]}]});
        assert_eq!(chooses(selector("NotIn"), &[]), Some(true));
        assert_eq!(chooses(selector("NotIn"), &[("k", "v")]), Some(false));
        assert_eq!(chooses(selector("Within"), &[]), None);
        assert_eq!(chooses(selector("Exists"), &[]), None);
    }
}
