//! What the echo answers.

use std::collections::BTreeMap;

use portcullis_http1::Fields;
use serde::Serialize;

use super::wish::Wish;
use crate::server::{Answer, Request, Response};

/// The Service whose instance an echo pretends to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct StandsFor {
    /// `namespace/name`.
    pub(crate) service: String,
    /// The Service's port.
    pub(crate) port: u16,
}

/// Answers each request with itself.
#[derive(Debug, Default)]
pub(crate) struct EchoAnswers {
    /// For whom, if for somebody.
    pub(crate) stands_for: Option<StandsFor>,
}

/// A request as it arrived.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Echoed<'a> {
    #[serde(flatten)]
    stands_for: Option<&'a StandsFor>,
    method: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    host: String,
    headers: BTreeMap<String, Values>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    trailers: BTreeMap<String, Values>,
    remote: String,
}

/// The values of a header: a list only where it came more than once.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Many(Vec<String>),
}

impl Answer for EchoAnswers {
    async fn answer(&self, request: Request) -> Response {
        let wish = Wish::of(&request.head.query().map(text).unwrap_or_default());
        if !wish.delay.is_zero() {
            tokio::time::sleep(wish.delay).await;
        }
        Response::json(wish.status, &self.echo(&request))
    }
}

impl EchoAnswers {
    fn echo(&self, request: &Request) -> Echoed<'_> {
        let Request { head, body, body_bytes, trailers, remote } = request;
        let has_body = *body_bytes > 0;
        Echoed {
            stands_for: self.stands_for.as_ref(),
            method: text(head.method_name()),
            path: text(head.path()),
            query: head.query().map(text),
            host: head.authority().map(text).unwrap_or_default(),
            headers: by_name(&head.fields),
            body: has_body.then(|| text(body)),
            body_bytes: has_body.then_some(*body_bytes),
            trailers: by_name(trailers),
            remote: remote.to_string(),
        }
    }
}

/// Bytes that are no text show as U+FFFD: this is for reading, not for keeping.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn by_name(fields: &Fields) -> BTreeMap<String, Values> {
    let mut sorted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value, _) in fields.iter() {
        sorted.entry(text(name).to_ascii_lowercase()).or_default().push(text(value));
    }
    sorted
        .into_iter()
        .map(|(name, mut values)| match (values.pop(), values.is_empty()) {
            (Some(only), true) => (name, Values::One(only)),
            (last, _) => {
                values.extend(last);
                (name, Values::Many(values))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use portcullis_http1::{HeadLimits, RequestHead, RequestParser};
    use serde_json::json;

    use super::*;

    fn request(head: &[u8], body: &[u8]) -> Request {
        let mut parsed = RequestHead::new();
        let length = RequestParser::new(HeadLimits::default()).parse(head, &mut parsed).unwrap();
        assert_eq!(length, Some(head.len()));
        Request {
            head: parsed,
            body: body.to_vec(),
            body_bytes: body.len() as u64,
            trailers: Fields::new(),
            remote: "192.0.2.1:5555".parse().unwrap(),
        }
    }

    #[test]
    fn a_request_is_answered_as_it_came() {
        let echo = EchoAnswers { stands_for: Some(StandsFor { service: "shop/cart".into(), port: 80 }) };
        let asked = request(
            b"POST /a%20b?x=1&x=2 HTTP/1.1\r\nHost: shop.test:81\r\nAccept: a\r\nX-Two: 1\r\nx-two: 2\r\n\r\n",
            b"hi",
        );
        assert_eq!(
            serde_json::to_value(echo.echo(&asked)).unwrap(),
            json!({
                "service": "shop/cart", "port": 80,
                "method": "POST", "path": "/a%20b", "query": "x=1&x=2", "host": "shop.test:81",
                "headers": {"host": "shop.test:81", "accept": "a", "x-two": ["1", "2"]},
                "body": "hi", "bodyBytes": 2, "remote": "192.0.2.1:5555",
            })
        );
    }

    #[test]
    fn nobody_is_named_where_it_stands_for_nobody() {
        let plain = request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"");
        assert_eq!(
            serde_json::to_value(EchoAnswers::default().echo(&plain)).unwrap(),
            json!({"method": "GET", "path": "/", "host": "a", "headers": {"host": "a"}, "remote": "192.0.2.1:5555"})
        );
    }
}
