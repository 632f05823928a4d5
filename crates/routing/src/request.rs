//! A request as matching sees it.

use std::cell::OnceCell;

use portcullis_model::{HeaderName, HeaderValue};

use crate::Preflight;
use crate::query::Parameters;

/// Where a request's headers are.
pub trait HeaderSource {
    /// The values of every field of a name, in order, without surrounding whitespace.
    ///
    /// The name is in lower case. `host` has the request's authority, whichever HTTP version carried it.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]>;
}

impl HeaderSource for [(HeaderName, HeaderValue)] {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.iter().filter(move |(field, _)| field.as_str() == name);
        named.map(|(_, value)| value.as_bytes())
    }
}

/// Whether a request with this content type is a gRPC call.
///
/// Source: gRPC over HTTP2, "Requests": `application/grpc`, with whatever follows; media types ignore case.
#[must_use]
pub fn is_grpc(content_type: &[u8]) -> bool {
    const GRPC: &[u8] = b"application/grpc";
    content_type.get(..GRPC.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(GRPC))
}

/// A request as matching sees it. Its query is parsed when a predicate first asks, and once.
#[derive(Debug)]
pub struct Request<'r, H: ?Sized> {
    /// The host as [`Authority::parse`](crate::Authority::parse) gives it.
    pub host: &'r str,
    /// The path as [`canonical_path`](crate::canonical_path) gives it.
    pub path: &'r str,
    /// The method, compared exactly.
    pub method: &'r str,
    /// The headers.
    pub headers: &'r H,
    /// What announces the request: headers that it promises count as met, for their values are not known yet.
    announced: Option<Preflight<'r>>,
    query: &'r str,
    parameters: OnceCell<Parameters<'r>>,
}

impl<'r, H: HeaderSource + ?Sized> Request<'r, H> {
    /// A request by its canonical host and path, its raw query (without `?`; empty if it has none) and the rest.
    #[must_use]
    pub fn new(host: &'r str, path: &'r str, query: &'r str, method: &'r str, headers: &'r H) -> Self {
        Request { host, path, method, headers, announced: None, query, parameters: OnceCell::new() }
    }

    /// The request that this one, a preflight request, announces.
    #[must_use]
    pub fn announced(self, preflight: Preflight<'r>) -> Self {
        Request { method: preflight.method, announced: Some(preflight), ..self }
    }

    /// Whether it is a gRPC call.
    pub(crate) fn is_call(&self) -> bool {
        self.headers.values("content-type").next().is_some_and(is_grpc)
    }

    /// Whether a header of this name is promised.
    pub(crate) fn promises(&self, name: &str) -> bool {
        self.announced.is_some_and(|preflight| preflight.promises(name))
    }

    /// The value of the first query parameter of a name, decoded as predicates see it.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<Vec<u8>> {
        self.parameters().decoded_first(name)
    }

    pub(crate) fn parameters(&self) -> &Parameters<'r> {
        self.parameters.get_or_init(|| Parameters::parse(self.query))
    }
}
