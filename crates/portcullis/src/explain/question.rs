//! What is asked: a request as a client would send it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use portcullis_model::{AuthProtocol, ExternalAuth, HeaderName, HeaderValue, Locality};
use portcullis_proxy::Reason;
use portcullis_routing::{Authority, Scheme, canonical_path, is_grpc};

use super::answer::Refused;

/// A request as a client would send it.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) method: String,
    pub(crate) scheme: Scheme,
    /// The host that the client connects to, and over TLS names in its handshake; in canonical form.
    pub(crate) server: String,
    /// The one that the client connects to.
    pub(crate) port: u16,
    /// What the engine adds to every listener's port.
    pub(crate) port_offset: u16,
    /// Where the proxy stands that is asked.
    pub(crate) locality: Locality,
    /// As written, without the query.
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    /// `host` included.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// What the filters of a listener make of headers with these names.
    granted: Vec<(HeaderName, HeaderValue)>,
}

/// Why what was asked is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuestionError {
    /// The method is no token.
    #[error("{0:?} is not a method")]
    Method(String),
    /// The URL's scheme is none that can be explained.
    #[error("the scheme {0:?} is none of http, https, tls, tcp and udp")]
    Scheme(String),
    /// The URL names no host, or what it names is none.
    #[error("the URL's host: {0}")]
    Host(String),
    /// A header without colon, or with a byte that no header has.
    #[error("{0:?} is not a header: write NAME: VALUE")]
    Header(String),
}

impl QuestionError {
    /// Whether the words that are no option are at fault.
    pub(crate) const fn is_of_url(&self) -> bool {
        !matches!(self, Self::Header(_))
    }
}

impl Question {
    /// The request for a URL (`http://` if it has no scheme) with headers as curl takes them (`Name: value`). A
    /// Host header replaces the URL's host in the request, and not in the TLS handshake.
    pub(crate) fn new(method: &str, url: &str, headers: &[String]) -> Result<Question, QuestionError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(QuestionError::Scheme(scheme.to_owned())),
        };
        if HeaderName::new(method).is_none() {
            return Err(QuestionError::Method(method.to_owned())); // both are tokens
        }
        let rest = rest.split('#').next().unwrap_or_default(); // a client keeps the fragment to itself
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            let message = "a request carries no user information there; write -H 'Authorization: …'";
            return Err(QuestionError::Host(message.to_owned()));
        }
        let server = Authority::parse(authority).map_err(|error| QuestionError::Host(error.to_string()))?;
        if server.host.is_empty() {
            return Err(QuestionError::Host("it is missing".to_owned()));
        }
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        let well_known = if scheme == Scheme::Http { 80 } else { 443 };
        Ok(Question {
            method: method.to_owned(),
            scheme,
            port: server.port.unwrap_or(well_known),
            port_offset: 0,
            locality: Locality::default(),
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            query,
            headers: with_host(parse_headers(headers)?, authority),
            granted: Vec::new(),
            server: server.host.into_owned(),
        })
    }

    /// The same request to an engine that adds this to every listener's port.
    #[must_use]
    pub(crate) fn behind_offset(self, port_offset: u16) -> Question {
        Question { port_offset, ..self }
    }

    /// The same request to a proxy that stands there.
    #[must_use]
    pub(crate) fn at(self, locality: Locality) -> Question {
        Question { locality, ..self }
    }

    /// The same request, of which the filters of a listener, if it meets any, leave these headers as they are here.
    pub(crate) fn granted(self, headers: &[String]) -> Result<Question, QuestionError> {
        Ok(Question { granted: parse_headers(headers)?, ..self })
    }

    /// What the filters of a listener leave of the request: of headers that are a service's to say, what it says. The
    /// host stays.
    #[must_use]
    pub(super) fn filtered(&self, filters: &[ExternalAuth]) -> Question {
        let said = filters.iter().flat_map(|filter| match &filter.protocol {
            AuthProtocol::Http { response_headers, .. } => response_headers.as_slice(),
            AuthProtocol::Grpc => &[],
        });
        let replaced: Vec<&HeaderName> = said.chain(self.granted.iter().map(|(name, _)| name)).collect();
        let is_host = |name: &HeaderName| name.as_str() == "host";
        let kept = self.headers.iter().filter(|(name, _)| is_host(name) || !replaced.contains(&name));
        let granted = self.granted.iter().filter(|(name, _)| !is_host(name));
        Question { headers: kept.chain(granted).cloned().collect(), ..self.clone() }
    }

    /// The port that a listener has which the client reaches, if some may.
    pub(super) fn listener_port(&self) -> Option<u16> {
        self.port.checked_sub(self.port_offset)
    }

    /// The raw query, empty if there is none.
    pub(crate) fn query(&self) -> &str {
        self.query.as_deref().unwrap_or_default()
    }

    /// The path in canonical form. A target has printable ASCII alone (RFC 9112 §3.2): clients percent-encode the
    /// rest, or are refused.
    pub(super) fn canonical_path(&self) -> Result<Cow<'_, str>, Refused> {
        let bad = |message: String| Refused::with(400, Reason::BadRequest, message);
        let mut target = self.path.chars().chain(self.query().chars());
        match target.find(|found| !found.is_ascii_graphic()) {
            Some(found) => Err(bad(format!("no target contains {found:?}; clients percent-encode it"))),
            None => canonical_path(&self.path).map_err(|error| bad(error.to_string())),
        }
    }

    /// The host that the request names, in canonical form.
    pub(super) fn host(&self) -> Result<Cow<'_, str>, Refused> {
        let bad = |message: String| Refused::with(400, Reason::BadRequest, message);
        let mut hosts = self.headers.iter().filter(|(name, _)| name.as_str() == "host");
        let (Some((_, host)), None) = (hosts.next(), hosts.next()) else {
            return Err(bad("the request has more than one Host".to_owned()));
        };
        let host =
            std::str::from_utf8(host.as_bytes()).map_err(|_| bad("the Host is not UTF-8".to_owned()))?;
        Ok(Authority::parse(host).map_err(|error| bad(error.to_string()))?.host)
    }

    /// Host as the client sends it, port and upper case included.
    pub(super) fn authority(&self) -> &str {
        let host = self.headers.iter().find(|(name, _)| name.as_str() == "host");
        host.and_then(|(_, host)| std::str::from_utf8(host.as_bytes()).ok()).unwrap_or(&self.server)
    }

    /// The name that a TLS handshake carries: addresses are none (RFC 6066 §3).
    pub(super) fn server_name(&self) -> Option<&str> {
        self.server_address().is_none().then_some(self.server.as_str())
    }

    /// The address that the URL names instead of a host.
    pub(super) fn server_address(&self) -> Option<IpAddr> {
        let bare = self.server.trim_start_matches('[').trim_end_matches(']');
        let v4 = bare.parse::<Ipv4Addr>().ok().map(IpAddr::V4);
        v4.or_else(|| bare.parse::<Ipv6Addr>().ok().map(IpAddr::V6))
    }

    pub(super) fn is_grpc(&self) -> bool {
        let content_type = self.headers.iter().find(|(name, _)| name.as_str() == "content-type");
        content_type.is_some_and(|(_, value)| is_grpc(value.as_bytes()))
    }
}

fn parse_headers(headers: &[String]) -> Result<Vec<(HeaderName, HeaderValue)>, QuestionError> {
    let parse = |line: &String| {
        let (name, value) = line.split_once(':')?;
        Some((HeaderName::new(name)?, HeaderValue::new(value.as_bytes())?))
    };
    headers.iter().map(|line| parse(line).ok_or_else(|| QuestionError::Header(line.clone()))).collect()
}

fn with_host(mut headers: Vec<(HeaderName, HeaderValue)>, authority: &str) -> Vec<(HeaderName, HeaderValue)> {
    if !headers.iter().any(|(name, _)| name.as_str() == "host") {
        let host = HeaderName::new("host").zip(HeaderValue::new(authority.as_bytes()));
        headers.extend(host);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(url: &str) -> Question {
        Question::new("GET", url, &[]).unwrap()
    }

    #[test]
    fn a_url_is_taken_apart() {
        let question = ask("https://A.example:8443/x/y?q=1#f");
        assert_eq!(
            (question.scheme, question.server.as_str(), question.port),
            (Scheme::Https, "a.example", 8443)
        );
        assert_eq!((question.path.as_str(), question.query()), ("/x/y", "q=1"));
        assert_eq!(question.host().unwrap(), "a.example");
        let bare = ask("a.example?q");
        assert_eq!((bare.scheme, bare.port, bare.path.as_str(), bare.query()), (Scheme::Http, 80, "/", "q"));
        assert_eq!(ask("https://a.example").port, 443);
    }

    /// As the proxy reads a request line: what clients have to encode is refused, what many do not encode is taken.
    #[test]
    fn a_target_is_printable_ascii() {
        assert_eq!(ask("a.example/\"x\"?|").canonical_path().unwrap(), "/\"x\"");
        assert_eq!(ask("a.example/%C3%BC").canonical_path().unwrap(), "/%C3%BC");
        for url in ["a.example/ü", "a.example/?a b", "a.example/%zz"] {
            assert!(ask(url).canonical_path().is_err(), "{url}");
        }
    }

    /// As curl does it: the Host header is for the request, the URL's host for the handshake.
    #[test]
    fn a_host_header_replaces_the_host_and_not_the_server_name() {
        let question = Question::new("GET", "https://a.example/", &["Host: b.example:1".to_owned()]).unwrap();
        assert_eq!(question.server_name(), Some("a.example"));
        assert_eq!(question.host().unwrap(), "b.example");
    }

    #[test]
    fn addresses_are_no_server_names() {
        assert_eq!(ask("https://127.0.0.1/").server_name(), None);
        assert_eq!(ask("https://[::1]:8443/").server_address(), Some(IpAddr::V6(Ipv6Addr::LOCALHOST)));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let refused =
            |method, url, header: &str| Question::new(method, url, &[header.to_owned()]).unwrap_err();
        assert_eq!(refused("G T", "a/", "x: y"), QuestionError::Method("G T".into()));
        assert_eq!(refused("GET", "ftp://a/", "x: y"), QuestionError::Scheme("ftp".into()));
        assert!(matches!(refused("GET", "http:///x", "x: y"), QuestionError::Host(_)));
        let userinfo = refused("GET", "u:p@a/x", "x: y").to_string();
        assert_eq!(
            userinfo,
            "the URL's host: a request carries no user information there; write -H 'Authorization: …'"
        );
        assert_eq!(refused("GET", "a/", "x"), QuestionError::Header("x".into()));
    }
}
