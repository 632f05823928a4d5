//! What can be wrong with files, before any object is judged.

use portcullis_api::{Rule, Severity};

macro_rules! rules {
    ($($(#[$meta:meta])* $name:ident = $code:literal $severity:ident: $summary:literal, $hint:literal;)+) => {
        $(
            $(#[$meta])*
            pub static $name: Rule =
                Rule { code: $code, severity: Severity::$severity, summary: $summary, hint: $hint };
        )+

        /// Every rule of files, in the order of their codes.
        pub static ALL: &[&Rule] = &[$(&$name),+];
    };
}

rules! {
    /// A path that was named does not exist, or no longer.
    MISSING = "PC0100" Error: "no such file or folder",
        "correct the path; while serving, what was read from it before is kept until it is back";
    /// A file or folder cannot be read.
    UNREADABLE = "PC0101" Error: "a file or folder that cannot be read",
        "let the user that Portcullis runs as read it; while serving, what was read before is kept";
    /// A file is larger than any sensible one.
    TOO_LARGE = "PC0102" Error: "a file that is too large",
        "split the file";
    /// A file is not text in UTF-8.
    NOT_UTF8 = "PC0103" Error: "not UTF-8",
        "save the file in the encoding UTF-8";
    /// Syntax, a key set twice, an alias without anchor, a tag that does not fit.
    NOT_YAML = "PC0104" Error: "YAML that cannot be read",
        "correct the file; while serving, its last good version is kept";
    /// A document that is not a mapping.
    NOT_AN_OBJECT = "PC0105" Error: "not a Kubernetes object",
        "write a mapping with apiVersion, kind and metadata.name, or remove the document";
    /// Two places define the same object.
    DUPLICATE = "PC0106" Error: "an object that is defined twice",
        "remove one of the two, or give it another name or namespace";
    /// A folder in which nothing is to be read.
    NO_FILES = "PC0107" Warning: "a folder without resources",
        "name a folder that has .yaml, .yml or .json files";
    /// The operating system gives no notice of changes.
    NOT_WATCHED = "PC0108" Warning: "changes are noticed late",
        "raise the limit fs.inotify.max_user_watches; until then paths are looked at every two seconds";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A start is refused and `check` keeps nothing: only what is already served has something to keep.
    #[test]
    fn hints_that_promise_to_keep_something_say_when() {
        let promises: Vec<_> = ALL.iter().filter(|rule| rule.hint.contains("kept")).collect();
        assert_eq!(promises.iter().map(|rule| rule.code).collect::<Vec<_>>(), ["PC0100", "PC0101", "PC0104"]);
        assert!(promises.iter().all(|rule| rule.hint.contains("; while serving, ")));
    }
}
