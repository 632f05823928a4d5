//! What stands for an image: a table from image names to programs of this machine.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;
use serde::Deserialize;

/// The first pattern that fits an image decides.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Images(IndexMap<String, Program>);

/// What an image's configuration says: entry point, arguments, environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    /// The entry point; a container's `command` takes its place.
    pub(crate) command: Vec<String>,
    /// A container's `args` take their place, and so does its `command`, which leaves none.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Values that a container's own environment overrides.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// The file cannot be read.
    #[error("table of images {}: {cause}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What reading it said.
        #[source]
        cause: io::Error,
    },
    /// The file is not a table of patterns and programs.
    #[error("table of images {}: {cause}", file.display())]
    Parse {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        #[source]
        cause: Box<serde_saphyr::Error>,
    },
}

impl Images {
    pub(crate) fn read(file: &Path) -> Result<Self, ImagesError> {
        let text =
            fs::read_to_string(file).map_err(|cause| ImagesError::Read { file: file.to_owned(), cause })?;
        serde_saphyr::from_str(&text)
            .map_err(|cause| ImagesError::Parse { file: file.to_owned(), cause: Box::new(cause) })
    }

    pub(crate) fn find(&self, image: &str) -> Option<&Program> {
        self.0.iter().find(|(pattern, _)| fits(pattern, image)).map(|(_, program)| program)
    }
}

/// Whether a pattern, whose `*` stands for any text, fits the whole image name.
fn fits(pattern: &str, image: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == image;
    };
    let Some(mut text) = image.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = text.get(at + part.len()..).unwrap_or_default();
    }
    text.len() >= tail.len() && text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let echo = "gcr.io/k8s/gateway-api/conformance/echo-basic:v0.1.0";
        assert!(fits("*/echo-basic:*", echo));
        assert!(fits("*", echo));
        assert!(fits("gcr.io/*/conformance/*:v0.1.0", echo));
        assert!(!fits("*/echo-basic", echo));
        assert!(!fits("gcr.io/*/conformance/*:v0.2.0", echo));
        assert!(fits("portcullis:*", "portcullis:dev"));
        assert!(!fits("portcullis:*", "other/portcullis:dev"));
        assert!(!fits("ab*ba", "aba"), "parts do not overlap");
        assert!(fits("exact", "exact"));
    }

    #[test]
    fn the_first_pattern_that_fits_decides() {
        let table = "{'*/echo:*': {command: [/bin/echo]}, '*': {command: [sh], args: [-c], env: {A: b}}}";
        let images: Images = serde_saphyr::from_str(table).unwrap();
        assert_eq!(images.find("x/echo:1").unwrap().command, ["/bin/echo"]);
        assert_eq!(images.find("other").unwrap().args, ["-c"]);
    }
}
