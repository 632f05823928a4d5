//! Commands and answers as documentation prints them: `$ command`, then what it writes.

use std::process::Command;

use crate::program;

/// A command and what the documentation says it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// For a shell in the repository's root.
    pub command: String,
    /// Its standard output.
    pub answer: String,
}

/// The steps of a console block.
#[must_use]
pub fn steps<'a>(block: impl IntoIterator<Item = &'a str>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), answer: String::new() }),
            (None, Some(step)) => {
                step.answer.push_str(line);
                step.answer.push('\n');
            }
            (None, None) => {}
        }
    }
    steps
}

/// The lines between a marker and the end of the fenced block that follows it.
#[must_use]
pub fn fenced<'a>(text: &'a str, marker: &str) -> Vec<&'a str> {
    let after = text.lines().skip_while(|line| line.trim() != marker).skip(1);
    after.skip(1).take_while(|line| !line.starts_with("```")).collect()
}

impl Step {
    /// Runs the command; what it really writes.
    #[must_use]
    pub fn run(&self) -> String {
        let output = Command::new("sh")
            .args(["-c", &self.command])
            .current_dir(program::root())
            .output()
            .expect("a shell starts");
        String::from_utf8_lossy(&output.stdout).replace('\r', "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_follows_its_command() {
        let text = "intro\n<!-- test: x -->\n```console\n$ one\n  a\nb\n$ two\n```\nrest\n$ three\n";
        let step = |command: &str, answer: &str| Step { command: command.into(), answer: answer.into() };
        assert_eq!(steps(fenced(text, "<!-- test: x -->")), [step("one", "  a\nb\n"), step("two", "")]);
    }
}
