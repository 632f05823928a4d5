//! Host: what backends and mirrors are told, which is what clients said unless a filter says otherwise.

use std::sync::mpsc::Receiver;

use h2::server::Builder;
use http::Request;
use portcullis_model::{
    Filter, HeaderModifier, HeaderName, HeaderValue, Hostname, Mirror, MirrorShare, RewriteUrl,
};

use crate::support::backend::fields;
use crate::support::http2::{Http2, run};
use crate::support::http2_backend::{Asked, Http2Backend};
use crate::support::model::{cluster_key, origin, requests};
use crate::support::{Backend, Gateway, PATIENCE, Rules, Running};

/// A backend of HTTP/2, and the authorities that it is asked for.
fn http2_backend() -> (Http2Backend, Receiver<String>) {
    let (tell, told) = std::sync::mpsc::channel();
    let backend = Http2Backend::handling(&Builder::new(), move |asked: Asked| {
        let tell = tell.clone();
        async move {
            assert_eq!(asked.request.headers().get("host"), None);
            tell.send(asked.request.uri().authority().unwrap().to_string()).unwrap();
            asked.answer("");
        }
    });
    (backend, told)
}

/// What each backend of both versions, and each mirror, is told by a client of either version that asks for `host`.
fn told(host: &str, filters: &[Filter]) -> Vec<String> {
    let (web, copy) = (Backend::named("web"), Backend::named("copy"));
    let (web2, webs2) = http2_backend();
    let (copy2, copies2) = http2_backend();
    let mirror = |name: &str| {
        let (origin, cluster) = (origin("Service", name), cluster_key(name, requests(name)));
        Filter::Mirror(Mirror { origin, port: Some(80), cluster, share: MirrorShare::ALL })
    };
    let filters = [filters, &[mirror("copy"), mirror("copy-h2c")]].concat();
    let rules = Rules::new().to("/1", "web").filters(filters.clone()).to("/2", "web-h2c").filters(filters);
    let gateway = Gateway::new()
        .http("", rules)
        .backend("web", &[web.address])
        .backend("web-h2c", &[web2.address])
        .backend("copy", &[copy.address])
        .backend("copy-h2c", &[copy2.address]);
    let running = Running::start(&gateway);
    for path in ["/1", "/2"] {
        assert_eq!(running.client().get(host, path).status, 200);
        run(async {
            let request = Request::get(format!("http://{host}{path}")).body(()).unwrap();
            let mut client = Http2::connect(running.address()).await;
            assert_eq!(client.send(request).await.unwrap().status(), 200);
        });
    }
    let heads = |backend: &Backend, count| -> Vec<String> {
        (0..count).map(|_| fields(&backend.head(), "host").join(" and ")).collect()
    };
    let two = |told: &Receiver<String>, count| -> Vec<String> {
        (0..count).map(|_| told.recv_timeout(PATIENCE).unwrap()).collect()
    };
    let mut all = [heads(&web, 2), two(&webs2, 2), heads(&copy, 4), two(&copies2, 4)].concat();
    all.dedup();
    all
}

fn rewrite(hostname: &str) -> Filter {
    Filter::Rewrite(RewriteUrl { hostname: Hostname::new(hostname), path: None })
}

fn set(value: &str) -> Filter {
    let field = (HeaderName::new("host").unwrap(), HeaderValue::new(value.as_bytes()).unwrap());
    Filter::RequestHeaders(HeaderModifier { set: vec![field], ..HeaderModifier::default() })
}

/// The port plays no part in matching and stays; a copy has no mark of its own.
#[test]
fn host_is_forwarded_and_mirrored_as_it_came() {
    for host in ["a.test", "a.test:8082", "A.Test", "127.0.0.1:80", "[::1]:80"] {
        assert_eq!(told(host, &[]), [host]);
    }
}

/// HTTPURLRewriteFilter.hostname; a RequestHeaderModifier that sets Host says the same in other words.
#[test]
fn a_rewritten_host_reaches_backends_and_mirrors_of_every_version() {
    assert_eq!(told("a.test:8082", &[rewrite("inside.test")]), ["inside.test"]);
    assert_eq!(told("a.test:8082", &[set("inside.test:81")]), ["inside.test:81"]);
}
