//! Programs of ours, built outside the tree and kept there.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};

use crate::Error;

/// A program that is built from a Go module of ours.
#[derive(Clone, Debug)]
pub struct Program {
    /// The folder of its go.mod.
    pub sources: PathBuf,
    /// Its name, in the cache too.
    pub name: &'static str,
    /// The `GOTOOLCHAIN` that builds it.
    pub toolchain: &'static str,
    /// What the linker is told (`-ldflags`).
    pub linker_flags: &'static str,
    /// What becomes the program.
    pub output: Output,
}

/// What of a module becomes a program.
#[derive(Clone, Copy, Debug)]
pub enum Output {
    /// A main package, by its import path or as `.`.
    Package(&'static str),
    /// The tests of the module's own folder, as one program.
    Tests,
}

impl Program {
    /// The program's path; builds it if this state of its sources has not been built yet. A build shows what it
    /// says, and takes idle time only.
    ///
    /// # Errors
    /// When Go is absent or the module does not build.
    pub fn build(&self) -> Result<PathBuf, Error> {
        let folder = cache_folder().join(self.name).join(self.state()?);
        let program = folder.join(self.name);
        if program.exists() {
            return Ok(program);
        }
        eprintln!("building {} with Go, once for this state of {}", self.name, self.sources.display());
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        // Tests may build at the same time: each in a file of its own, and the last rename stands.
        let built = folder.join(format!("building-{}", std::process::id()));
        let status = self.command(&built).status().map_err(Error::Start)?;
        if !status.success() {
            return Err(Error::Build { sources: self.sources.clone(), status });
        }
        fs::rename(&built, &program).map_err(Error::file(&program))?;
        Ok(program)
    }

    /// What the build depends on, as a hash: the Go files, go.mod and go.sum, and how they are built.
    fn state(&self) -> Result<String, Error> {
        let sources = &self.sources;
        let entries = fs::read_dir(sources).map_err(Error::file(sources))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let mut hash = Sha256::new();
        hash.update(format!("{} {} {:?}", self.toolchain, self.linker_flags, self.output));
        for file in files.iter().filter(|file| is_source(file)) {
            hash.update(file.file_name().unwrap_or_default().as_encoded_bytes());
            hash.update(fs::read(file).map_err(Error::file(file))?);
        }
        Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    fn command(&self, built: &Path) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", "5", "go"]);
        match self.output {
            Output::Package(_) => command.arg("build"),
            Output::Tests => command.args(["test", "-c"]),
        };
        command.args(["-trimpath", "-ldflags", self.linker_flags, "-o"]).arg(built);
        command.arg(match self.output {
            Output::Package(package) => package,
            Output::Tests => ".",
        });
        command.env("GOTOOLCHAIN", self.toolchain).current_dir(&self.sources);
        command
    }
}

/// Where builds outside the tree are kept: `$XDG_CACHE_HOME/portcullis`, or `~/.cache/portcullis`.
#[must_use]
pub fn cache_folder() -> PathBuf {
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")));
    caches.unwrap_or_else(env::temp_dir).join("portcullis")
}

fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "go" || extension == "mod" || extension == "sum")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of go.sum or of a Go file asks for another build, a change of a text beside them does not.
    #[test]
    fn a_state_is_named_by_the_sources() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program {
            sources: folder.path().to_path_buf(),
            name: "program",
            toolchain: "auto",
            linker_flags: "",
            output: Output::Package("."),
        };
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap();
            program.state().unwrap()
        };
        let first = write("main.go", "package main");
        assert_eq!(write("README.md", "a text"), first);
        let second = write("go.sum", "a sum");
        assert_ne!(second, first);
        assert_ne!(write("main.go", "package main // changed"), second);
        let other = Program { linker_flags: "-s", ..program.clone() };
        assert_ne!(other.state().unwrap(), program.state().unwrap());
    }
}
