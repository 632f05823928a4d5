//! What a reader of logs asks for.

use bytes::{BufMut, Bytes, BytesMut};
use jiff::{SignedDuration, Timestamp};

use super::{Line, Ring};

/// The query of `/containerLogs`; parameters that are not here are ignored.
///
/// Source: `PodLogOptions` field documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) follow: bool,
    pub(crate) previous: bool,
    pub(crate) timestamps: bool,
    pub(crate) since: Option<Timestamp>,
    pub(crate) tail: Option<usize>,
    pub(crate) limit_bytes: Option<usize>,
}

/// A parameter that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("query parameter {name}: {value:?} is not {expected}")]
pub(crate) struct QueryError {
    name: String,
    value: String,
    expected: &'static str,
}

impl Query {
    pub(crate) fn parse(query: &str, now: Timestamp) -> Result<Self, QueryError> {
        let mut asked = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let refuse = |expected| QueryError { name: name.to_string(), value: value.to_string(), expected };
            let flag = || value.parse().map_err(|_| refuse("true or false"));
            let number = || value.parse().map_err(|_| refuse("a number"));
            match &*name {
                "follow" => asked.follow = flag()?,
                "previous" => asked.previous = flag()?,
                "timestamps" => asked.timestamps = flag()?,
                "tailLines" => asked.tail = Some(number()?),
                "limitBytes" => asked.limit_bytes = Some(number()?),
                "sinceTime" => asked.since = Some(value.parse().map_err(|_| refuse("an RFC 3339 time"))?),
                "sinceSeconds" => {
                    let seconds = value.parse().map_err(|_| refuse("a number of seconds"))?;
                    asked.since = now.checked_sub(SignedDuration::from_secs(seconds)).ok();
                }
                _ => {}
            }
        }
        Ok(asked)
    }

    /// The lines that are there now and asked for.
    pub(crate) fn select(&self, ring: &Ring) -> Bytes {
        let kept = ring.lines().len();
        let skipped = self.tail.map_or(0, |tail| kept.saturating_sub(tail));
        let mut text = self.render(ring.lines().skip(skipped));
        text.truncate(self.limit_bytes.unwrap_or(usize::MAX));
        text
    }

    /// Lines as a reader gets them.
    pub(crate) fn render<'a>(&self, lines: impl Iterator<Item = &'a Line>) -> Bytes {
        let mut text = BytesMut::new();
        for line in lines.filter(|line| self.since.is_none_or(|since| line.at >= since)) {
            if self.timestamps {
                text.put(format!("{:.9} ", line.at).as_bytes());
            }
            text.put(&*line.text);
        }
        text.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Ring {
        let mut ring = Ring::default();
        for second in 0..5 {
            let at = Timestamp::from_second(1_000_000_000 + second).unwrap();
            ring.push(Line { at, text: Bytes::from(format!("{second}\n")) });
        }
        ring
    }

    fn ask(query: &str) -> String {
        let now = Timestamp::from_second(1_000_000_004).unwrap();
        let text = Query::parse(query, now).unwrap().select(&ring());
        String::from_utf8(text.to_vec()).unwrap()
    }

    #[test]
    fn each_parameter_chooses_lines() {
        assert_eq!(ask(""), "0\n1\n2\n3\n4\n");
        assert_eq!(ask("stream=All&unknown=1"), "0\n1\n2\n3\n4\n");
        assert_eq!(ask("sinceTime=2001-09-09T01:46:43Z"), "3\n4\n");
        assert_eq!(ask("sinceTime=2001-09-09T01%3A46%3A43Z"), "3\n4\n");
        assert_eq!(ask("sinceSeconds=2"), "2\n3\n4\n");
        assert_eq!(ask("tailLines=2"), "3\n4\n");
        assert_eq!(ask("tailLines=0"), "");
        assert_eq!(ask("tailLines=99"), "0\n1\n2\n3\n4\n");
        assert_eq!(ask("limitBytes=3"), "0\n1");
        assert_eq!(ask("tailLines=1&timestamps=true"), "2001-09-09T01:46:44.000000000Z 4\n");
    }

    #[test]
    fn a_value_that_cannot_be_read_is_named() {
        let refused = Query::parse("tailLines=x", Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(refused.to_string(), "query parameter tailLines: \"x\" is not a number");
        assert!(Query::parse("follow=perhaps", Timestamp::UNIX_EPOCH).is_err());
        assert!(Query::parse("sinceTime=yesterday", Timestamp::UNIX_EPOCH).is_err());
    }
}
