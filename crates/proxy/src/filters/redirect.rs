//! RequestRedirect.

use std::sync::Arc;

use portcullis_model::{Hostname, PathRewrite, Redirect};
use portcullis_routing::Scheme;

use super::path::rewritten;

/// A redirect leads to a port that the offset pushes beyond the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a redirect's port {port} and the port offset {offset} add up to more than 65535")]
pub struct RedirectPortTooHigh {
    /// The port that the redirect would lead to without the offset.
    pub port: u16,
    /// The offset.
    pub offset: u16,
}

/// A redirect of which everything is settled that does not depend on the request.
#[derive(Debug)]
pub struct CompiledRedirect {
    /// Its status.
    pub status: u16,
    scheme: Arc<str>,
    hostname: Option<Hostname>,
    /// None where it is left out of Location.
    port: Option<u16>,
    path: Option<PathRewrite>,
}

impl CompiledRedirect {
    /// Settles a redirect for a listener at `port`, to which the engine adds `offset`.
    ///
    /// The offset moves the listener's port, and with a redirect that stays on the host every port: they lead to
    /// listeners of the same Gateway, which the offset has moved.
    ///
    /// # Errors
    /// When the offset leads beyond the last port: no client could follow.
    pub fn compile(
        redirect: &Redirect,
        scheme: Scheme,
        port: u16,
        offset: u16,
    ) -> Result<CompiledRedirect, RedirectPortTooHigh> {
        let own = match scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        let target = redirect.scheme.clone().unwrap_or_else(|| own.into());
        let well_known = if &*target == "https" { 443 } else { 80 };
        let moved = |port: u16| port.checked_add(offset).ok_or(RedirectPortTooHigh { port, offset });
        let port = match (redirect.port, &redirect.scheme) {
            (None, None) => moved(port)?,
            (Some(port), _) if redirect.hostname.is_none() => moved(port)?,
            (Some(port), _) => port,
            (None, Some(_)) if redirect.hostname.is_none() => moved(well_known)?,
            (None, Some(_)) => well_known,
        };
        Ok(CompiledRedirect {
            status: redirect.status,
            scheme: target,
            hostname: redirect.hostname.clone(),
            port: (port != well_known).then_some(port),
            path: redirect.path.clone(),
        })
    }

    /// The Location of a request to this host and canonical path; none where neither request nor redirect names a host:
    /// a path alone could be read as one.
    #[must_use]
    pub fn location(
        &self,
        host: &str,
        path: &str,
        query: Option<&[u8]>,
        prefix_len: Option<usize>,
    ) -> Option<Vec<u8>> {
        let host = self.hostname.as_ref().map_or(host, Hostname::as_str);
        if host.is_empty() {
            return None;
        }
        let path = self.path.as_ref().map_or(path.into(), |change| rewritten(change, path, prefix_len));
        // What `OPTIONS *` asks about is the URI without a path (RFC 9112 §3.2.4).
        let path = if path == "*" { "".into() } else { path };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let mut location = format!("{}://{host}{port}{path}", self.scheme).into_bytes();
        if let Some(query) = query {
            location.push(b'?');
            location.extend_from_slice(query);
        }
        Some(location)
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::ReplacementPath;

    use super::*;

    fn redirect() -> Redirect {
        Redirect { scheme: None, hostname: None, port: None, path: None, status: 302 }
    }

    fn location(redirect: &Redirect, scheme: Scheme, port: u16, offset: u16) -> String {
        let compiled = CompiledRedirect::compile(redirect, scheme, port, offset).unwrap();
        String::from_utf8(compiled.location("a.test", "/p/q", Some(b"x=1"), Some(2)).unwrap()).unwrap()
    }

    /// HTTPRequestRedirectFilter.port field documentation.
    #[test]
    fn the_port_is_given_or_the_schemes_or_the_listeners() {
        let explicit = Redirect { port: Some(8443), scheme: Some("https".into()), ..redirect() };
        assert_eq!(location(&explicit, Scheme::Http, 80, 0), "https://a.test:8443/p/q?x=1");
        let by_scheme = Redirect { scheme: Some("https".into()), ..redirect() };
        assert_eq!(location(&by_scheme, Scheme::Http, 8080, 0), "https://a.test/p/q?x=1");
        assert_eq!(location(&redirect(), Scheme::Http, 8080, 0), "http://a.test:8080/p/q?x=1");
        assert_eq!(location(&redirect(), Scheme::Http, 80, 0), "http://a.test/p/q?x=1");
        assert_eq!(location(&redirect(), Scheme::Https, 443, 0), "https://a.test/p/q?x=1");
        let default_port = Redirect { port: Some(443), scheme: Some("https".into()), ..redirect() };
        assert_eq!(location(&default_port, Scheme::Http, 80, 0), "https://a.test/p/q?x=1");
    }

    #[test]
    fn an_offset_moves_the_ports_of_the_gateway_itself() {
        assert_eq!(location(&redirect(), Scheme::Http, 80, 8000), "http://a.test:8080/p/q?x=1");
        let to_https = Redirect { scheme: Some("https".into()), ..redirect() };
        assert_eq!(location(&to_https, Scheme::Http, 80, 8000), "https://a.test:8443/p/q?x=1");
        let elsewhere =
            Redirect { hostname: Hostname::new("b.test"), scheme: Some("https".into()), ..redirect() };
        assert_eq!(location(&elsewhere, Scheme::Http, 80, 8000), "https://b.test/p/q?x=1");
    }

    #[test]
    fn an_offset_that_leads_beyond_the_last_port_is_an_error() {
        let explicit = Redirect { port: Some(60_000), ..redirect() };
        let elsewhere = Redirect { hostname: Hostname::new("b.test"), ..explicit.clone() };
        let compiled = |redirect, offset| CompiledRedirect::compile(redirect, Scheme::Http, 80, offset).err();
        assert_eq!(compiled(&explicit, 5_535), None);
        assert_eq!(compiled(&explicit, 5_536), Some(RedirectPortTooHigh { port: 60_000, offset: 5_536 }));
        assert_eq!(compiled(&elsewhere, 5_536), None);
    }

    #[test]
    fn an_asterisk_is_no_path_of_a_location() {
        let location = |redirect: &Redirect| {
            let compiled = CompiledRedirect::compile(redirect, Scheme::Http, 80, 0).unwrap();
            String::from_utf8(compiled.location("a.test", "*", None, Some(0)).unwrap()).unwrap()
        };
        let prefix = PathRewrite::Prefix(ReplacementPath::new("/x").unwrap());
        assert_eq!(location(&redirect()), "http://a.test");
        assert_eq!(location(&Redirect { path: Some(prefix), ..redirect() }), "http://a.test");
        let full = PathRewrite::Full(ReplacementPath::new("/x").unwrap());
        assert_eq!(location(&Redirect { path: Some(full), ..redirect() }), "http://a.test/x");
    }

    #[test]
    fn a_path_change_keeps_the_query() {
        let change =
            Redirect { path: Some(PathRewrite::Prefix(ReplacementPath::new("/").unwrap())), ..redirect() };
        assert_eq!(location(&change, Scheme::Http, 80, 0), "http://a.test/q?x=1");
    }
}
