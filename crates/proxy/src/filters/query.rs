//! Changes of a query's parameters.

use portcullis_http1::RequestHead;
use portcullis_routing::decoded;

/// What becomes of the parameters of a query: first some are set, then some go.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryChanges {
    /// In the place of those of their name, or behind the others.
    pub(crate) set: Vec<(String, String)>,
    pub(crate) removed: Vec<String>,
}

impl QueryChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }

    /// A query that is no text is left alone: no rule takes a request with one.
    pub(crate) fn apply(&self, head: &mut RequestHead) {
        if self.is_empty() {
            return;
        }
        let Ok(query) = std::str::from_utf8(head.query().unwrap_or_default()) else { return };
        let changed = self.changed(query);
        head.set_query(Some(changed.as_bytes()).filter(|query| !query.is_empty()));
    }

    fn changed(&self, query: &str) -> String {
        let mut parts: Vec<String> = match query {
            "" => Vec::new(),
            query => query.split('&').map(str::to_owned).collect(),
        };
        for (name, value) in &self.set {
            let mut new = Some(format!("{}={}", escaped(name, "="), escaped(value, "")));
            parts.retain_mut(|part| match is_called(part, name) {
                true => new.take().map(|new| *part = new).is_some(),
                false => true,
            });
            parts.extend(new);
        }
        parts.retain(|part| !self.removed.iter().any(|name| is_called(part, name)));
        parts.join("&")
    }
}

fn is_called(part: &str, name: &str) -> bool {
    let raw = part.split_once('=').map_or(part, |(raw, _)| raw);
    decoded(raw).eq(decoded(name))
}

/// A text with an escape for everything that a query cannot have (RFC 3986 §3.4), that would end it or its part, and for
/// `also`. What is an escape already stays.
fn escaped(text: &str, also: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        let is_escape =
            matches!(tail, [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
        let stays = match byte {
            b'%' => is_escape,
            byte if also.as_bytes().contains(byte) => false,
            byte => byte.is_ascii_alphanumeric() || b"-._~!$'()*+,;=:@/?".contains(byte),
        };
        match stays {
            true => escaped.push(char::from(*byte)),
            false => escaped.push_str(&format!("%{byte:02X}")),
        }
        rest = tail;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(query: &str, set: &[(&str, &str)], removed: &[&str]) -> String {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let removed = removed.iter().map(|name| (*name).to_owned()).collect();
        QueryChanges { set, removed }.changed(query)
    }

    /// `OkHttpResponse.query_parameters_to_set` overwrites, `query_parameters_to_remove` has the last word.
    #[test]
    fn parameters_are_overwritten_added_and_removed_by_name() {
        assert_eq!(changed("a=1&b=2&a=3", &[("a", "x")], &[]), "a=x&b=2");
        assert_eq!(changed("%61=1&b", &[("a", "x"), ("c", "y")], &["b"]), "a=x&c=y");
        assert_eq!(changed("", &[("a", "1")], &[]), "a=1");
        assert_eq!(changed("a&A=1", &[], &["a"]), "A=1");
        assert_eq!(changed("a=1", &[("a", "2")], &["a"]), "");
    }

    /// Nothing that is set becomes another parameter, or the end of the query.
    #[test]
    fn a_value_stays_a_value() {
        assert_eq!(changed("", &[("a", "1&b=2#c d")], &[]), "a=1%26b=2%23c%20d");
        assert_eq!(changed("", &[("a=b&", "\u{e4}%zz%2f")], &[]), "a%3Db%26=%C3%A4%25zz%2f");
    }
}
