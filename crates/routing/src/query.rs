//! Query parameters.

use smallvec::SmallVec;

use portcullis_model::ValueMatch;

/// The parameters of a query, in order, not yet decoded.
#[derive(Debug)]
pub(crate) struct Parameters<'q>(SmallVec<[(&'q str, &'q str); 8]>);

impl<'q> Parameters<'q> {
    /// Splits at `&` and at the first `=` of each part; a part without `=` has the empty value.
    pub(crate) fn parse(query: &'q str) -> Parameters<'q> {
        let parts = query.split('&');
        Parameters(parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect())
    }

    /// Whether the first parameter of a name has such a value (HTTPQueryParamMatch: "If multiple entries
    /// specify equivalent … query param names, only the first … MUST be considered").
    pub(crate) fn fits(&self, name: &str, value: &ValueMatch) -> bool {
        self.first(name).is_some_and(|raw| match value {
            ValueMatch::Exact(text) => decoded(raw).eq(text.bytes()),
            ValueMatch::Regex(pattern) if raw.contains('%') => {
                pattern.matches(&decoded(raw).collect::<SmallVec<[u8; 128]>>())
            }
            ValueMatch::Regex(pattern) => pattern.matches(raw.as_bytes()),
        })
    }

    /// The first parameter of a name, decoded.
    pub(crate) fn decoded_first(&self, name: &str) -> Option<Vec<u8>> {
        self.first(name).map(|raw| decoded(raw).collect())
    }

    fn first(&self, name: &str) -> Option<&'q str> {
        let same = |raw: &str| raw == name || (raw.contains('%') && decoded(raw).eq(name.bytes()));
        self.0.iter().find(|(raw, _)| same(raw)).map(|(_, value)| *value)
    }
}

/// The bytes of a query parameter's name or value with its escapes decoded (RFC 3986 §2.1). A `+` is itself: forms encode spaces
/// so, the Gateway API does not say that queries are forms. What is no escape stands for itself.
pub fn decoded(raw: &str) -> impl Iterator<Item = u8> {
    let mut rest = raw.as_bytes();
    std::iter::from_fn(move || {
        let (first, tail) = rest.split_first()?;
        if let (b'%', [high, low, after @ ..]) = (first, tail) {
            let digits = (*high as char).to_digit(16).zip((*low as char).to_digit(16));
            if let Some(value) = digits.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
                rest = after;
                return Some(value);
            }
        }
        rest = tail;
        Some(*first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_model::Pattern;

    fn fits(query: &str, name: &str, value: &str) -> bool {
        Parameters::parse(query).fits(name, &ValueMatch::Exact(value.into()))
    }

    /// HTTPQueryParamMatch: the first of repeated parameters counts.
    #[test]
    fn the_first_of_a_name_counts() {
        assert!(fits("a=1&a=2", "a", "1"));
        assert!(!fits("a=1&a=2", "a", "2"));
        assert!(fits("b=2&%61=1", "a", "1"));
        assert!(fits("%62=2&a=1", "a", "1"));
    }

    #[test]
    fn names_and_values_are_decoded_once_and_compared_exactly() {
        assert!(fits("a=%31", "a", "1"));
        assert!(fits("a=%2531", "a", "%31"));
        assert!(fits("a=%c3%A4", "a", "ä"));
        assert!(fits("a=x+y", "a", "x+y"));
        assert!(fits("a=100%", "a", "100%"));
        assert!(fits("a=%zz", "a", "%zz"));
        assert!(fits("a==b", "a", "=b"));
        assert!(fits("&&a&", "a", ""));
        assert!(!fits("A=1", "a", "1"));
        assert!(!fits("", "a", ""));
        assert_eq!(Parameters::parse("a=%31&a=2").decoded_first("a").as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn patterns_see_the_decoded_value() {
        let value = ValueMatch::Regex(Pattern::new("[0-9]+").unwrap());
        assert!(Parameters::parse("a=%31%32").fits("a", &value));
        assert!(Parameters::parse("a=12").fits("a", &value));
        assert!(!Parameters::parse("a=12x").fits("a", &value));
    }
}
