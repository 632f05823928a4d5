//! Diagnostics: what is wrong, where, and what to do about it, as values.

use std::{fmt, path::PathBuf, sync::Arc};

use crate::{field_path::FieldPath, names::ObjectKey};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing needs to change.
    Info,
    /// Something has no effect, or will surprise.
    Warning,
    /// Something is refused or will not be served.
    Error,
}

impl Severity {
    /// `info`, `warning` or `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a finding is called everywhere: one row of a table that conditions, `check`, logs and
/// `docs/diagnostics.md` are rendered from.
///
/// Codes are stable: `PC01xx` files and YAML, `PC02xx` admission, `PC03xx` Gateways and listeners,
/// `PC04xx` routes, `PC05xx` backends and grants, `PC06xx` TLS, `PC07xx` lint, `PC08xx` engines.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The stable code, such as `PC0203`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, in a few words without particulars.
    pub summary: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

/// Where in the user's files something is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The file; `-` is the standard input.
    pub file: Arc<PathBuf>,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// What a document says of itself, where that is not enough for an [`ObjectKey`]: its kind is not known, or it has no
/// name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Document {
    /// `apiVersion`.
    pub api_version: Option<String>,
    /// `kind`.
    pub kind: Option<String>,
    /// `metadata.namespace`.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: Option<String>,
}

impl fmt::Display for Document {
    /// As an object's key is written, as far as it goes: `HTTPRoutes/edge/web`, `Gateway`, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(kind) = &self.kind else { return Ok(()) };
        f.write_str(kind)?;
        let Some(name) = &self.name else { return Ok(()) };
        match &self.namespace {
            Some(namespace) => write!(f, "/{namespace}/{name}"),
            None => write!(f, "/{name}"),
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of finding it is.
    pub rule: &'static Rule,
    /// The object it is about, where one could be told.
    pub object: Option<ObjectKey>,
    /// What the document says of itself, where no object could be told.
    pub document: Option<Box<Document>>,
    /// The field it is about; [`FieldPath::ROOT`] for the object itself.
    pub path: FieldPath,
    /// One line with the particulars.
    pub message: String,
    /// What to do, when it can be said more exactly than the rule says it.
    pub hint: Option<String>,
    /// Where it was written, filled in by whoever read the file.
    pub position: Option<Position>,
}

impl Diagnostic {
    /// A finding at a field, yet without object and position.
    pub fn new(rule: &'static Rule, path: FieldPath, message: impl Into<String>) -> Self {
        Self { rule, object: None, document: None, path, message: message.into(), hint: None, position: None }
    }

    /// The same finding, about this object.
    #[must_use]
    pub fn about(mut self, object: ObjectKey) -> Self {
        self.object = Some(object);
        self
    }

    /// The same finding with a more exact hint than its rule's.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same finding, at this place in a file.
    #[must_use]
    pub fn at(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    /// What it is about, in a word: the object's key, or what the document says of itself.
    pub fn subject(&self) -> Option<String> {
        let document = || self.document.as_ref().map(ToString::to_string).filter(|text| !text.is_empty());
        self.object.as_ref().map(ToString::to_string).or_else(document)
    }

    /// How much it matters.
    pub const fn severity(&self) -> Severity {
        self.rule.severity
    }

    /// Whether it refuses something.
    pub fn is_error(&self) -> bool {
        self.rule.severity == Severity::Error
    }

    /// The exact hint, or else the rule's.
    pub fn hint(&self) -> &str {
        self.hint.as_deref().unwrap_or(self.rule.hint)
    }
}

impl fmt::Display for Diagnostic {
    /// `error[PC0203] Gateway/default/web spec.listeners: message`, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.rule.severity, self.rule.code)?;
        if let Some(subject) = self.subject() {
            write!(f, " {subject}")?;
        }
        if !self.path.is_root() {
            write!(f, " {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}
