//! [`FieldPath`]: where in an object something is.

use std::{fmt, sync::Arc};

/// A path into an object, printed as `spec.listeners[2].hostname` and, where a map's key would
/// not read as a field, `spec.tls.options[example.com/x]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Step>);

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A field of an object.
    Field(Arc<str>),
    /// A position in a list, from 0.
    Index(usize),
    /// A key of a map.
    Key(Arc<str>),
}

impl FieldPath {
    /// The object itself.
    pub const ROOT: Self = Self(Vec::new());

    /// The path of one field of the object, such as `spec`.
    pub fn of(field: &str) -> Self {
        Self::ROOT.field(field)
    }

    /// This path, then a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        self.then(Step::Field(Arc::from(name)))
    }

    /// This path, then fields separated by dots, such as `tls.certificateRefs`.
    #[must_use]
    pub fn fields(&self, names: &str) -> Self {
        names.split('.').fold(self.clone(), |path, name| path.field(name))
    }

    /// This path, then a position in a list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    /// This path, then a key of a map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.then(Step::Key(Arc::from(key)))
    }

    /// This path, then a step.
    #[must_use]
    pub fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The steps from the object down.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether this is the object itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `self` is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(crate) fn under(mut self, mut parent: Vec<Step>) -> Self {
        parent.append(&mut self.0);
        Self(parent)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if position == 0 => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_a_person_would_write_it() {
        let spec = FieldPath::of("spec");
        assert_eq!(
            spec.field("listeners").index(2).field("hostname").to_string(),
            "spec.listeners[2].hostname"
        );
        assert_eq!(
            spec.fields("tls.options").key("portcullis.dev/x").to_string(),
            "spec.tls.options[portcullis.dev/x]"
        );
        assert_eq!(FieldPath::ROOT.to_string(), "");
    }

    #[test]
    fn a_path_lies_within_its_parents() {
        let rules = FieldPath::of("spec").field("rules");
        assert!(rules.index(1).is_within(&rules));
        assert!(!rules.is_within(&rules.index(1)));
        assert!(!FieldPath::of("specs").is_within(&FieldPath::of("spec")));
    }
}
