//! RequestHeaderModifier and ResponseHeaderModifier.

use portcullis_http1::{Fields, Known};
use portcullis_model::{HeaderModifier, HeaderName, HeaderValue};

/// What happens to the fields of a head, in order.
#[derive(Debug, Default)]
pub(crate) struct HeaderOps(Vec<HeaderOp>);

#[derive(Debug)]
enum HeaderOp {
    Set(HeaderName, HeaderValue),
    Add(HeaderName, HeaderValue),
    Remove(HeaderName),
}

impl HeaderOps {
    pub(crate) fn extend(&mut self, modifier: &HeaderModifier) {
        let set = modifier.set.iter().map(|(name, value)| HeaderOp::Set(name.clone(), value.clone()));
        let add = modifier.add.iter().map(|(name, value)| HeaderOp::Add(name.clone(), value.clone()));
        let remove = modifier.remove.iter().map(|name| HeaderOp::Remove(name.clone()));
        self.0.extend(set.chain(add).chain(remove));
    }

    pub(crate) fn apply(&self, fields: &mut Fields) {
        for op in &self.0 {
            match op {
                HeaderOp::Set(name, value) => fields.set(name.as_str().as_bytes(), value.as_bytes()),
                HeaderOp::Add(name, value) => add(fields, name.as_str().as_bytes(), value.as_bytes()),
                HeaderOp::Remove(name) => {
                    fields.remove(name.as_str().as_bytes());
                }
            }
        }
    }
}

/// Appends to the field of the name, which is the same as adding a line (RFC 9110 §5.3) but for recipients that
/// look at one line only. Set-Cookie is the field for which it is not the same.
pub(super) fn add(fields: &mut Fields, name: &[u8], value: &[u8]) {
    if Known::from_name(name) == Some(Known::SetCookie) {
        return fields.push(name, value);
    }
    let mut joined = Vec::new();
    for present in fields.get_all(name) {
        joined.extend_from_slice(present);
        joined.push(b',');
    }
    if joined.is_empty() {
        return fields.push(name, value);
    }
    joined.extend_from_slice(value);
    fields.set(name, &joined);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(HeaderName, HeaderValue)> {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::new(name).unwrap(), HeaderValue::new(value.as_bytes()).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    /// HTTPHeaderFilter field documentation: set replaces, add appends, remove ignores case.
    #[test]
    fn set_replaces_add_appends_and_remove_ignores_case() {
        let modifier = HeaderModifier {
            set: pairs(&[("x-set", "new"), ("x-missing", "set")]),
            add: pairs(&[("x-add", "b"), ("set-cookie", "two=2"), ("x-fresh", "f")]),
            remove: vec![HeaderName::new("x-remove").unwrap()],
        };
        let mut fields = Fields::new();
        for (name, value) in [
            ("X-Set", "old"),
            ("x-set", "older"),
            ("X-Add", "a"),
            ("Set-Cookie", "one=1"),
            ("X-Remove", "gone"),
            ("X-Stays", "s"),
        ] {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        let mut ops = HeaderOps::default();
        ops.extend(&modifier);
        ops.apply(&mut fields);
        let shown: Vec<String> = fields
            .iter()
            .map(|(name, value, _)| {
                format!("{}={}", String::from_utf8_lossy(name).to_lowercase(), String::from_utf8_lossy(value))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "x-set=new",
                "x-add=a,b",
                "set-cookie=one=1",
                "x-stays=s",
                "x-missing=set",
                "set-cookie=two=2",
                "x-fresh=f"
            ]
        );
    }
}
