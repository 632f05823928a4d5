//! A request as matching sees it.

use std::cell::OnceCell;

use portcullis_model::{HeaderName, HeaderValue};

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
    query: &'r str,
    parameters: OnceCell<Parameters<'r>>,
}

impl<'r, H: HeaderSource + ?Sized> Request<'r, H> {
    /// A request by its canonical host and path, its raw query (without `?`; empty if it has none) and the rest.
    #[must_use]
    pub fn new(host: &'r str, path: &'r str, query: &'r str, method: &'r str, headers: &'r H) -> Self {
        Request { host, path, method, headers, query, parameters: OnceCell::new() }
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
