//! `$(NAME)` in commands, arguments and values of the environment.
//!
//! Source: `Container.command` field documentation: references to variables that are not defined stay
//! as they are, and `$$` stands for `$`.

use std::collections::BTreeMap;

pub(crate) fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) = after.strip_prefix('(').and_then(|name| name.split_once(')')) {
            match variables.get(name) {
                Some(value) => expanded.push_str(value),
                None => expanded.extend(["$(", name, ")"]),
            }
            rest = after;
        } else {
            expanded.push('$');
            rest = after;
        }
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_replaced_and_others_stay() {
        let variables =
            BTreeMap::from([("A".to_owned(), "1".to_owned()), ("B".to_owned(), "$(A)".to_owned())]);
        for (text, expected) in [
            ("plain", "plain"),
            ("$(A)", "1"),
            ("x$(A)y$(A)z", "x1y1z"),
            ("$(NONE)", "$(NONE)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$(A", "$(A"),
            ("$A", "$A"),
            ("cost: 5$", "cost: 5$"),
            ("$(B)", "$(A)"),
        ] {
            assert_eq!(expand(text, &variables), expected, "{text}");
        }
    }
}
