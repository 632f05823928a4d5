//! Pages of the documentation that follow from the source: `portcullis docs DIR` writes them, a test compares.

mod commands;
mod diagnostics;
mod limits;

use std::path::PathBuf;

use clap::Args;

use crate::exit::{Failure, Outcome};

/// Write the generated pages of the documentation
#[derive(Args, Debug)]
pub(crate) struct Docs {
    /// The folder to write to
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// A page: its file name and text.
type Page = (&'static str, String);

fn pages() -> [Page; 3] {
    [
        ("commands.md", commands::page()),
        ("diagnostics.md", diagnostics::page()),
        ("limits.md", limits::page()),
    ]
}

impl Docs {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        for (name, text) in pages() {
            let path = self.folder.join(name);
            std::fs::write(&path, text)
                .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
        }
        Ok(Outcome::Clean)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn written(name: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        std::fs::read_to_string(folder.join(name)).unwrap_or_default()
    }

    #[test]
    fn every_reason_code_is_explained() {
        let page = written("observability.md");
        for reason in portcullis_proxy::Reason::ALL {
            assert!(page.contains(&format!("`{}`", reason.as_str())), "{}", reason.as_str());
        }
    }

    #[test]
    fn the_generated_pages_are_up_to_date() {
        for (name, text) in pages() {
            let written = written(name);
            assert!(written == text, "docs/{name} is out of date: run `cargo xtask docs`");
        }
    }
}
