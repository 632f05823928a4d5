//! Paths: one canonical form for matching, for whoever is asked, and for the backend; and what filters make of it.

use portcullis_model::{
    Action, AuthProtocol, ExternalAuth, Filter, Forward, PathRewrite, Redirect, ReplacementPath, RewriteUrl,
};

use crate::support::model::{cluster_key, forward, origin, requests};
use crate::support::{Backend, Gateway, Rules, Running};

/// The path of a request line.
fn path(head: &str) -> String {
    head.split(' ').nth(1).unwrap().to_owned()
}

/// The path that rules match is the one that an authorization service sees and that the backend gets: no spelling
/// gets past a rule, or past the service, as another path than it is served as.
#[test]
fn one_canonical_path_is_matched_authorized_and_forwarded() {
    let (web, service) = (Backend::named("public"), Backend::named("yes"));
    let admin = Backend::named("admin");
    let auth = ExternalAuth {
        origin: origin("Service", "auth"),
        port: Some(80),
        cluster: cluster_key("auth", requests("auth")),
        protocol: AuthProtocol::Http { path_prefix: "".into(), response_headers: Vec::new() },
        request_headers: Vec::new(),
        body_limit: 0,
    };
    let rules = Rules::new().to("/pub", "web").to("/adm", "admin").filters(vec![Filter::Auth(auth)]);
    let gateway = Gateway::new()
        .http("", rules)
        .backend("web", &[web.address])
        .backend("admin", &[admin.address])
        .backend("auth", &[service.address]);
    let running = Running::start(&gateway);
    let mut client = running.client();
    for (asked, answer, forwarded) in [
        ("/pub/../adm", "admin", "/adm"),
        ("/pub/%2e%2e/adm", "admin", "/adm"),
        ("/pub/%2E./adm/x", "admin", "/adm/x"),
        ("/pub/./../adm", "admin", "/adm"),
        ("/%61dm", "admin", "/adm"),
        ("/../../adm", "admin", "/adm"),
        ("/adm/../pub", "public", "/pub"),
        // An escaped slash is none, so what stands behind it is no segment of its own.
        ("/pub/..%2fadm", "public", "/pub/..%2Fadm"),
        ("/pub/%2e%2e%2Fadm", "public", "/pub/..%2Fadm"),
        ("/pub/..;/adm", "public", "/pub/..;/adm"),
        // Nor is a backslash, which some backends would take for one.
        ("/pub/x\\..\\..\\adm", "public", "/pub/x%5C..%5C..%5Cadm"),
        ("/pub//adm", "public", "/pub//adm"),
    ] {
        assert_eq!(client.get("a", asked).body, answer, "{asked}");
        let backend = if answer == "admin" { &admin } else { &web };
        assert_eq!(path(&backend.head()), forwarded, "{asked}");
        if answer == "admin" {
            assert_eq!(path(&service.head()), forwarded, "{asked}");
        }
    }
    for (asked, status) in [
        ("//adm", 404),
        ("/adm;x", 404),
        ("\\adm", 400),
        ("/pub\\..\\adm", 404),
        ("/ADM", 404),
        ("/%2fadm", 404),
        ("/pub/%zz", 400),
        ("/adm%", 400),
        ("/adm%2", 400),
    ] {
        assert_eq!(running.client().get("a", asked).status, status, "{asked}");
    }
    assert!(web.no_more_heads() && admin.no_more_heads() && service.no_more_heads());
}

/// RFC 9112 §3.2.4: what is asked of a server as a whole is asked of the backend so, whatever becomes of paths.
#[test]
fn an_asterisk_is_forwarded_as_one() {
    let (web, moved) = (Backend::named("web"), Backend::named("moved"));
    let change = PathRewrite::Prefix(ReplacementPath::new("/xyz").unwrap());
    let rewrite = Filter::Rewrite(RewriteUrl { hostname: None, path: Some(change) });
    let gateway = Gateway::new()
        .http("a.test", Rules::new().to("/", "web"))
        .http("b.test", Rules::new().to("/", "moved").filters(vec![rewrite]))
        .backend("web", &[web.address])
        .backend("moved", &[moved.address]);
    let running = Running::start(&gateway);
    for (host, backend) in [("a.test", &web), ("b.test", &moved)] {
        let answer = running.send(&format!("OPTIONS * HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(answer.status, 200, "{host}");
        assert!(backend.head().starts_with("OPTIONS * HTTP/1.1\r\n"), "{host}");
    }
}

/// HTTPPathModifier.replacePrefixMatch, its table first; then slashes on both sides, and the query. A rule's rewrite, a
/// backend's and a redirect mean the same.
#[test]
fn a_replaced_prefix_loses_and_doubles_no_slash() {
    for (prefix, replacement, asked, expected) in [
        ("/foo", "/xyz", "/foo/bar", "/xyz/bar"),
        ("/foo", "/xyz/", "/foo/bar", "/xyz/bar"),
        ("/foo/", "/xyz", "/foo/bar", "/xyz/bar"),
        ("/foo/", "/xyz/", "/foo/bar", "/xyz/bar"),
        ("/foo", "/xyz", "/foo", "/xyz"),
        ("/foo/", "/xyz", "/foo", "/xyz"),
        ("/foo", "/xyz", "/foo/", "/xyz/"),
        ("/foo", "", "/foo/bar", "/bar"),
        ("/foo", "", "/foo/", "/"),
        ("/foo", "", "/foo", "/"),
        ("/foo", "/", "/foo/", "/"),
        ("/foo", "/", "/foo", "/"),
        ("/service/", "/api/service/", "/service/version", "/api/service/version"),
        ("/strip-prefix", "/", "/strip-prefix", "/"),
        ("/strip-prefix", "/", "/strip-prefix?a=/b", "/?a=/b"),
        ("/prefix/one", "/one", "/prefix/one/two", "/one/two"),
        ("/", "/xyz", "/a//b", "/xyz/a//b"),
        ("/foo", "/xyz", "/foo//bar", "/xyz//bar"),
        ("/foo", "/xyz", "/foo/a%2Fb?c=%20", "/xyz/a%2Fb?c=%20"),
    ] {
        let backend = Backend::named("web");
        let change = PathRewrite::Prefix(ReplacementPath::new(replacement).unwrap());
        let rewrite = || Filter::Rewrite(RewriteUrl { hostname: None, path: Some(change.clone()) });
        let Action::Forward(Forward { mut backends }) = forward(&[("web", 1)]) else { unreachable!() };
        backends[0].filters = vec![rewrite()];
        let redirect =
            Redirect { scheme: None, hostname: None, port: None, path: Some(change.clone()), status: 302 };
        let gateway = Gateway::new()
            .http("rule.test", Rules::new().to(prefix, "web").filters(vec![rewrite()]))
            .http("backend.test", Rules::new().rule(prefix, Action::Forward(Forward { backends })))
            .http("redirect.test", Rules::new().rule(prefix, Action::Redirect(redirect)))
            .backend("web", &[backend.address]);
        let running = Running::start(&gateway);
        let mut client = running.client();
        for host in ["rule.test", "backend.test"] {
            assert_eq!(client.get(host, asked).status, 200);
            assert_eq!(path(&backend.head()), expected, "{prefix} by {replacement} in {asked} at {host}");
        }
        let answer = client.get("redirect.test", asked);
        let expected = format!("http://redirect.test{expected}");
        assert_eq!(answer.header("location"), Some(&*expected), "{prefix} by {replacement} in {asked}");
    }
}
