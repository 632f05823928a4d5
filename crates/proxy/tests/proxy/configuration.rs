//! Changes of configuration, ports, draining and what operators see.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use portcullis_proxy::{BindFailure, Drain};

use crate::support::{Backend, Client, Gateway, PATIENCE, Rules, Running, admin, eventually};

#[test]
fn a_change_is_swapped_in_under_open_connections() {
    let (one, two) = (Backend::named("one"), Backend::named("two"));
    let gateway = |target| {
        Gateway::new()
            .http("", Rules::new().to("/", target))
            .backend("one", &[one.address])
            .backend("two", &[two.address])
            .model()
    };
    let mut running = Running::start(&Gateway::to(one.address));
    let mut client = running.client();
    for _ in 0..20 {
        for name in ["one", "two"] {
            running.apply(&gateway(name));
            assert_eq!(client.get("a", "/").body, name);
        }
    }
}

#[test]
fn endpoints_change_under_the_rules_that_lead_to_them() {
    let (one, two) = (Backend::named("one"), Backend::named("two"));
    let gateway = Gateway::to(one.address);
    let mut running = Running::start(&gateway);
    let mut client = running.client();
    assert_eq!(client.get("a", "/").body, "one");
    running.apply(&gateway.clone().backend("web", &[two.address]).model());
    assert_eq!(client.get("a", "/").body, "two");
    running.apply(&gateway.backend("web", &[]).model());
    assert_eq!(client.get("a", "/").status, 503);
}

#[test]
fn a_tunnel_notices_no_change() {
    let server = Backend::scripted(|connection| {
        connection.request();
        connection.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        let said = connection.exactly(2);
        connection.write(said);
    });
    let mut running = Running::start(&Gateway::to(server.address));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    assert_eq!(client.head().status, 101);
    running.apply(&Gateway::new().http("", Rules::new()).model());
    client.send("ok");
    assert_eq!(client.exactly(2), "ok");
}

/// The listening socket closes only when its port goes, and what the kernel has accepted is served.
#[test]
fn a_port_that_goes_is_closed_and_comes_back() {
    let backend = Backend::named("web");
    let gateway = Gateway::to(backend.address);
    let mut running = Running::start(&gateway);
    let address = running.address();
    let mut open = running.client();
    assert_eq!(open.get("a", "/").status, 200);
    running.apply(&gateway.clone().at([127, 0, 0, 2]).model());
    eventually(|| TcpStream::connect(address).err());
    let answer = open.get("a", "/");
    assert_eq!((answer.status, answer.header("connection")), (404, Some("close")));
    assert_eq!(Client::connect(running.bound[1].1).get("a", "/").body, "web");
}

#[test]
fn a_port_in_use_is_reported_and_bound_when_it_is_free() {
    let taken = std::net::TcpListener::bind(("127.0.0.3", 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let backend = Backend::named("web");
    let mut model = portcullis_model::Model::clone(&Gateway::to(backend.address).model());
    let port = model.ports.pop_first().unwrap().1;
    model.ports.insert(portcullis_model::BindAddress::tcp(address.ip(), address.port()), port);
    let running = Running::idle(Running::options());
    running.proxy.apply(&model.into());
    let report = running.reports.recv_timeout(PATIENCE).unwrap();
    assert_eq!(report.result, Err(BindFailure::InUse));
    drop(taken);
    let report = running.reports.recv_timeout(PATIENCE).unwrap();
    assert_eq!(report.result, Ok(address));
    assert_eq!(Client::connect(address).get("a", "/").body, "web");
}

#[test]
fn ready_after_the_first_configuration_and_not_while_draining() {
    let mut options = Running::options();
    options.limits.drain_idle_timeout = Duration::from_millis(50);
    let mut running = Running::idle(options);
    let address = running.proxy.admin().unwrap();
    assert_eq!(admin(address, "/livez").0, 200);
    assert_eq!(admin(address, "/readyz").0, 503);
    let backend = Backend::named("web");
    running.apply(&Gateway::to(backend.address).model());
    assert_eq!(admin(address, "/readyz").0, 200);
    let mut client = running.client();
    assert_eq!(client.get("a", "/").status, 200);
    assert_eq!(client.get("a", "/").header("connection"), None);
    let counted = "portcullis_requests_total{reason=\"ok\"} 2\n";
    eventually(|| admin(address, "/metrics").1.contains(counted).then_some(()));
    assert!(running.proxy.drain(Drain { delay: Duration::ZERO, timeout: PATIENCE }));
    assert_eq!(admin(address, "/readyz").0, 503);
    assert_eq!(client.rest(), "", "an idle connection ends");
    assert!(TcpStream::connect(running.address()).is_err(), "nothing is accepted any more");
}

/// While load balancers notice, clients that they still send are served as before.
#[test]
fn accepting_goes_on_for_the_drain_delay() {
    let backend = Backend::named("web");
    let running = Running::start(&Gateway::to(backend.address));
    let admin_address = running.proxy.admin().unwrap();
    let delay = Duration::from_secs(1);
    std::thread::scope(|scope| {
        let began = Instant::now();
        let drain = scope.spawn(|| running.proxy.drain(Drain { delay, timeout: PATIENCE }));
        eventually(|| (admin(admin_address, "/readyz").0 == 503).then_some(()));
        let answer = running.client().get("a", "/");
        if began.elapsed() < delay {
            assert_eq!((answer.body.as_str(), answer.header("connection")), ("web", None));
        }
        eventually(|| TcpStream::connect(running.address()).err());
        assert!(began.elapsed() >= delay);
        assert!(drain.join().unwrap());
    });
}

#[test]
fn a_request_under_way_ends_in_peace_and_takes_its_connection_along() {
    let (server, go) = Backend::late();
    let running = Running::start(&Gateway::to(server.address));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server.head();
    std::thread::scope(|scope| {
        let proxy = &running.proxy;
        let drain = scope.spawn(move || proxy.drain(Drain { delay: Duration::ZERO, timeout: PATIENCE }));
        eventually(|| TcpStream::connect(running.address()).err());
        go.send(()).unwrap();
        let answer = client.answer();
        assert_eq!((answer.body.as_str(), answer.header("connection")), ("late", Some("close")));
        assert!(drain.join().unwrap());
    });
}

#[test]
fn what_does_not_end_in_time_is_cut() {
    let server = Backend::silent();
    let running = Running::start(&Gateway::to(server.address));
    let mut client = running.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server.head();
    assert!(!running.proxy.drain(Drain { delay: Duration::ZERO, timeout: Duration::from_millis(100) }));
    drop(running);
    assert_eq!(client.rest(), "");
}

#[test]
fn the_access_log_says_why_a_request_failed() {
    use portcullis_proxy::{AccessLogFormat, AccessLogOptions};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut options = Running::options();
    options.access_log = Some(AccessLogOptions { format: AccessLogFormat::Json, path: Some(path.clone()) });
    let running =
        Running::with(&Gateway::new().http("", Rules::new().to("/", "web")).backend("web", &[]), options);
    assert_eq!(running.client().get("a.test", "/x?y=1").status, 503);
    let line = eventually(|| std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')));
    let line: serde_json::Value = serde_json::from_str(line.trim()).unwrap();
    assert_eq!(line["reason"], "no_endpoint");
    assert_eq!(line["status"], 503);
    assert_eq!(line["path"], "/x?y=1");
    assert_eq!(line["listener"], "Gateway/default/gateway/listener-0");
    assert_eq!(line["route"], "HTTPRoute/default/route");
    assert_eq!(line["rule"], 0);
    assert_eq!(line["request_id"].as_str().unwrap().len(), 36);
}

/// Rotation moves the file away and asks for a new one; until there is one, no line is lost.
#[test]
fn the_access_log_is_reopened_when_asked_and_kept_when_that_fails() {
    use portcullis_proxy::{AccessLogFormat, AccessLogOptions};
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let mut options = Running::options();
    options.access_log = Some(AccessLogOptions { format: AccessLogFormat::Text, path: Some(path.clone()) });
    let running =
        Running::with(&Gateway::new().http("", Rules::new().to("/", "web")).backend("web", &[]), options);
    let lines = |path: &std::path::Path| std::fs::read_to_string(path).unwrap().lines().count();
    let request_makes = |path: &std::path::Path, count: usize| {
        assert_eq!(running.client().get("a.test", "/").status, 503);
        eventually(|| (lines(path) == count).then_some(()));
    };
    request_makes(&path, 1);
    std::fs::rename(&path, &moved).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(running.proxy.reopen_access_log().is_err());
    request_makes(&moved, 2);
    std::fs::remove_dir(&path).unwrap();
    assert!(running.proxy.reopen_access_log().unwrap());
    request_makes(&path, 1);
    assert_eq!(lines(&moved), 2);
}

#[test]
fn a_trusted_client_may_ask_how_its_request_was_handled() {
    use portcullis_model::HeaderName;
    let backend = Backend::named("web");
    let gateway = Gateway::to(backend.address);
    let request = "GET / HTTP/1.1\r\nHost: a\r\nX-Debug: 1\r\n\r\n";
    let mut options = Running::options();
    options.debug_header = HeaderName::new("x-debug");
    assert_eq!(Running::with(&gateway, options.clone()).send(request).header("x-debug"), None);
    options.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let answer = Running::with(&gateway, options).send(request);
    let expected = format!("endpoint={}; attempts=1; reason=ok", backend.address);
    let told = answer.header("x-debug").unwrap();
    assert!(told.contains(&expected) && told.contains("route=HTTPRoute/default/route; rule=0"), "{told}");
    assert!(!backend.head().to_lowercase().contains("x-debug"));
}

#[test]
fn a_proxy_header_names_the_client() {
    use crate::support::backend::fields;
    let backend = Backend::named("web");
    let mut options = Running::options();
    options.proxy_protocol_ports = vec![0];
    let running = Running::with(&Gateway::to(backend.address), options);
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let answer = running.send(&format!("PROXY TCP4 192.0.2.7 127.0.0.1 4000 80\r\n{request}"));
    assert_eq!(answer.status, 200);
    assert_eq!(fields(&backend.head(), "x-forwarded-for"), ["192.0.2.7"]);
    let mut without = running.client();
    without.send(request);
    assert_eq!(without.rest(), "");
}

/// A PROXY header names any client, so where proxies are named only they may send one.
#[test]
fn a_proxy_header_from_elsewhere_than_the_trusted_proxies_is_refused() {
    let backend = Backend::named("web");
    let mut options = Running::options();
    options.proxy_protocol_ports = vec![0];
    options.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let request = "PROXY TCP4 192.0.2.7 127.0.0.1 4000 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(Running::with(&Gateway::to(backend.address), options.clone()).send(request).status, 200);
    backend.head();
    options.trusted_proxies = vec!["192.0.2.0/24".parse().unwrap()]; // where the header says that the client is
    let running = Running::with(&Gateway::to(backend.address), options);
    let mut elsewhere = running.client();
    elsewhere.send(request);
    assert_eq!(elsewhere.rest(), "");
    assert!(backend.no_more_heads());
    let counted = "portcullis_refused_total{reason=\"untrusted_proxy\"} 1\n";
    eventually(|| running.metrics().contains(counted).then_some(()));
}
