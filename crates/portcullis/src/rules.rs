//! Every rule by which something can be found fault with.

use portcullis_api::Rule;

use crate::lint;

/// All of them, by code.
pub(crate) fn all() -> Vec<&'static Rule> {
    let files = portcullis_files::rules::ALL.iter().copied();
    let admission = portcullis_api::admission::rules::all().into_iter();
    let resolution = portcullis_resolve::CAUSES.iter().map(|cause| &cause.rule);
    let mut all: Vec<&Rule> =
        files.chain(admission).chain(resolution).chain(lint::RULES.iter().copied()).collect();
    all.sort_by_key(|rule| rule.code);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_means_two_things() {
        let codes: Vec<&str> = all().iter().map(|rule| rule.code).collect();
        assert!(codes.is_sorted_by(|one, next| one < next), "{codes:?}");
    }
}
