//! Resolution of edits: after any of them, following gives what resolving afresh gives, and tells what changed.
//!
//! The input stands in for the picks of the property test's universe, so that coverage steers which objects are made:
//! an edit is a byte for its subject, one for the number of its picks, and the picks.

#[path = "../../../crates/resolve/tests/resolution"]
#[allow(dead_code, reason = "the tests do more with these than this target")]
mod resolution {
    pub(crate) mod agreement;
    pub(crate) mod expect;
    pub(crate) mod given;
    pub(crate) mod served;
    pub(crate) mod universe;
}

use portcullis_resolve::Engine;
use resolution::agreement;
use resolution::universe::Edit;

/// A resolution takes milliseconds here, and what a long run of edits finds a short one mostly does, too.
const MOST_EDITS: usize = 8;

pub(crate) fn run(input: &[u8]) {
    let mut edits = Vec::new();
    let mut left = input;
    while let [subject, picks, rest @ ..] = left
        && edits.len() < MOST_EDITS
    {
        let (picks, rest) = rest.split_at(usize::from(*picks % 48).min(rest.len()));
        edits.push(Edit { subject: usize::from(*subject), picks: picks.to_vec() });
        left = rest;
    }
    if let Err(difference) = agreement::follow(&Engine::native_from_files(), &edits, |_, _| ()) {
        panic!("{difference}");
    }
}
