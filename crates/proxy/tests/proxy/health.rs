//! Endpoints that fail are shut out, those that are ending or far away get nothing new, and those that are new get more
//! and more.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use portcullis_model::{Endpoint, EndpointAddress, EndpointState, Hints, ListenerProtocol, Locality};
use portcullis_proxy::{Clock, ProxyOptions};

use crate::support::backend::nobody;
use crate::support::model::tcp_route;
use crate::support::{Backend, Client, Gateway, PATIENCE, Rules, Running, admin};

/// A backend that answers with its name, or hangs up on every request while it is told to.
fn moody(name: &'static str) -> (Backend, Arc<AtomicBool>) {
    let hangs_up = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&hangs_up);
    let backend = Backend::scripted(move |connection| {
        while connection.request().is_some() && !told.load(Ordering::SeqCst) {
            connection.answer(name);
        }
    });
    (backend, hangs_up)
}

/// A backend that hangs up on every request.
fn broken() -> Backend {
    Backend::scripted(|connection| {
        connection.request();
    })
}

fn gateway(addresses: &[SocketAddr]) -> Gateway {
    Gateway::new().http("", Rules::new().to("/", "web")).backend("web", addresses)
}

/// A proxy whose endpoints are judged by a clock that stands still.
fn start(gateway: &Gateway) -> (Running, Clock) {
    let clock = Clock::manual();
    (Running::with(gateway, ProxyOptions { clock: clock.clone(), ..Running::options() }), clock)
}

/// The statuses and bodies of so many answers.
fn answers(running: &Running, path: &str, count: usize) -> Vec<(u16, String)> {
    let answer = |_| {
        let answer = running.client().get("a", path);
        (answer.status, answer.body)
    };
    (0..count).map(answer).collect()
}

/// How many of so many requests fail.
fn failures(running: &Running, path: &str, count: usize) -> usize {
    answers(running, path, count).iter().filter(|(status, _)| *status != 200).count()
}

/// How many of so many requests are answered with this.
fn named(running: &Running, name: &str, count: usize) -> usize {
    answers(running, "/", count).iter().filter(|(_, body)| body == name).count()
}

fn metric(running: &Running, name: &str) -> Option<u64> {
    let metrics = running.metrics();
    metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

fn instance(address: SocketAddr, state: EndpointState) -> Endpoint {
    Endpoint { state, ..Endpoint::ready(EndpointAddress::Socket(address)) }
}

/// The fifth failure in a row shuts an endpoint out for 30 s; then it is on trial, and one failure shuts it out for
/// twice the time. When it answers again it gets its share little by little.
#[test]
fn an_endpoint_that_fails_again_and_again_is_shut_out_for_longer_each_time() {
    let (good, (bad, hangs_up)) = (Backend::named("good"), moody("bad"));
    hangs_up.store(true, Ordering::SeqCst);
    let (running, clock) = start(&gateway(&[good.address, bad.address]));
    let ejected = "portcullis_upstream_ejected_endpoints{kind=\"Service\",namespace=\"default\",name=\"web\",\
                   port=\"80\"}";
    assert_eq!(failures(&running, "/", 20), 5);
    assert_eq!(failures(&running, "/", 20), 0);
    assert_eq!(metric(&running, "portcullis_upstream_ejections_total"), Some(1));
    assert_eq!(metric(&running, ejected), Some(1));
    clock.advance(Duration::from_millis(29_999));
    assert_eq!(failures(&running, "/", 20), 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(metric(&running, ejected), None, "its time is over");
    assert_eq!(failures(&running, "/", 100), 1);
    clock.advance(Duration::from_secs(59));
    assert_eq!(failures(&running, "/", 100), 0);
    assert_eq!(metric(&running, "portcullis_upstream_ejections_total"), Some(2));
    hangs_up.store(false, Ordering::SeqCst);
    clock.advance(Duration::from_secs(1));
    assert!((5..=20).contains(&named(&running, "bad", 200)), "a tenth of its half");
    clock.advance(Duration::from_secs(5));
    assert!((45..=55).contains(&named(&running, "bad", 200)), "half of its half");
    clock.advance(Duration::from_secs(5));
    assert_eq!(named(&running, "bad", 200), 100);
}

/// At most half of the endpoints are shut out, and a single one never is.
#[test]
fn some_endpoints_stay_however_they_fail() {
    let (good, bad) = (Backend::named("good"), [broken(), broken()]);
    let (running, _) = start(&gateway(&[good.address, bad[0].address, bad[1].address]));
    answers(&running, "/", 60);
    assert_eq!(metric(&running, "portcullis_upstream_ejections_total"), Some(1));
    assert_eq!(failures(&running, "/", 60), 30, "one of the two that fail is left");
    assert!(metric(&running, "portcullis_upstream_ejections_spared_total") > Some(0));
    let (running, _) = start(&gateway(&[bad[0].address]));
    let asked = bad[0].connections();
    assert_eq!(failures(&running, "/", 20), 20);
    assert_eq!(bad[0].connections() - asked, 20);
    assert_eq!(metric(&running, "portcullis_upstream_ejections_total"), Some(0));
}

/// Where more than half are shut out because others went, all are used.
#[test]
fn nobody_is_shut_out_when_too_few_are_left() {
    let good = [Backend::named("good"), Backend::named("good")];
    let bad = [moody("back"), moody("back")];
    let all = [good[0].address, good[1].address, bad[0].0.address, bad[1].0.address];
    bad.iter().for_each(|(_, hangs_up)| hangs_up.store(true, Ordering::SeqCst));
    let (mut running, _) = start(&gateway(&all));
    answers(&running, "/", 40);
    assert_eq!(metric(&running, "portcullis_upstream_ejections_total"), Some(2));
    assert_eq!(failures(&running, "/", 20), 0);
    bad.iter().for_each(|(_, hangs_up)| hangs_up.store(false, Ordering::SeqCst));
    running.apply(&gateway(&all[2..]).model());
    assert_eq!(named(&running, "back", 20), 20);
}

/// What is known of an endpoint is known to all rules, and outlives changes that leave it where it is.
#[test]
fn rules_share_what_is_known_of_an_endpoint() {
    let (good, bad) = (Backend::named("good"), broken());
    let gateway = |addresses: &[SocketAddr]| {
        Gateway::new().http("", Rules::new().to("/a", "web").to("/b", "web")).backend("web", addresses)
    };
    let (mut running, _) = start(&gateway(&[good.address, bad.address]));
    assert_eq!(failures(&running, "/a", 20), 5);
    assert_eq!(failures(&running, "/b", 20), 0);
    let another = Backend::named("another");
    running.apply(&gateway(&[good.address, bad.address, another.address]).model());
    assert_eq!(failures(&running, "/a", 30) + failures(&running, "/b", 30), 0);
    running.apply(&gateway(&[good.address, another.address]).model());
    running.apply(&gateway(&[good.address, bad.address, another.address]).model());
    assert!(failures(&running, "/a", 100) > 0, "one that went and came is another");
}

/// What an endpoint says is its answer, and what takes too long may be the work; one answer ends the row of failures.
#[test]
fn answers_and_slowness_shut_nobody_out() {
    let backend = || {
        Backend::scripted(|connection| {
            while let Some(head) = connection.request() {
                match head.split(' ').nth(1).unwrap() {
                    "/busy" => connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
                    "/gateway" => connection.write("HTTP/1.1 502 Down\r\nContent-Length: 0\r\n\r\n"),
                    "/cut" => return,
                    "/half" => return connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
                    "/slow" => drop(connection.rest()),
                    _ => connection.answer("ok"),
                }
            }
        })
    };
    let backends = [backend(), backend()];
    let rules = Rules::new().to("/", "web").to("/slow", "web").timeouts(None, Some(20));
    let gateway = Gateway::new().http("", rules).backend("web", &[backends[0].address, backends[1].address]);
    let (running, _) = start(&gateway);
    for path in ["/busy", "/gateway", "/slow"] {
        assert_eq!(failures(&running, path, 20), 20, "{path}");
    }
    for _ in 0..20 {
        let mut client = running.client();
        client.send("GET /half HTTP/1.1\r\nHost: a\r\n\r\n");
        client.rest(); // the head, if it comes before the reset
    }
    for _ in 0..5 {
        assert_eq!(failures(&running, "/cut", 8), 8, "four each");
        assert_eq!(failures(&running, "/", 2), 0, "and an answer of each");
    }
    assert_eq!(metric(&running, "portcullis_upstream_ejections_total"), Some(0));
}

/// A connection that nobody takes is a failure of the endpoint, though another one answers the request.
#[test]
fn an_endpoint_at_which_nobody_listens_is_not_tried_for_long() {
    let good = Backend::named("good");
    let (running, _) = start(&gateway(&[nobody(), good.address]));
    assert_eq!(failures(&running, "/", 40), 0);
    assert_eq!(metric(&running, "portcullis_upstream_connect_failures_total"), Some(5));
    let tcp = Gateway::new().below("", ListenerProtocol::Tcp(vec![tcp_route(&[("app", 1)])]));
    let (running, _) = start(&tcp.backend("app", &[nobody(), good.address]));
    for _ in 0..40 {
        assert_eq!(running.client().get("a", "/").body, "good");
    }
    assert_eq!(metric(&running, "portcullis_upstream_connect_failures_total"), Some(5));
}

/// A failed connect is followed by a try of another endpoint, be it one that is shut out: that is better than an error.
#[test]
fn one_that_is_shut_out_is_the_last_resort() {
    let (good, (back, hangs_up)) = (Backend::named("good"), moody("back"));
    hangs_up.store(true, Ordering::SeqCst);
    let (mut running, _) = start(&gateway(&[good.address, back.address]));
    assert_eq!(failures(&running, "/", 20), 5);
    hangs_up.store(false, Ordering::SeqCst);
    running.apply(&gateway(&[nobody(), back.address]).model());
    assert_eq!(named(&running, "back", 20), 20);
}

/// An endpoint that joins others begins with a tenth of its share; those that are there from the beginning do not.
#[test]
fn a_new_endpoint_has_a_slow_start() {
    let (old, new) = (Backend::named("old"), Backend::named("new"));
    let (mut running, clock) = start(&gateway(&[old.address]));
    running.apply(&gateway(&[old.address, new.address]).model());
    assert!((5..=20).contains(&named(&running, "new", 200)));
    clock.advance(Duration::from_secs(5));
    assert!((45..=55).contains(&named(&running, "new", 200)));
    clock.advance(Duration::from_secs(5));
    assert_eq!(named(&running, "new", 200), 100);
    let (running, _) = start(&gateway(&[old.address, new.address]));
    assert_eq!(named(&running, "new", 20), 10);
}

/// A backend that answers at once but for `/late`, echoes what upgraded connections say, and tells when a connection
/// that waited for a request has ended.
fn ending() -> (Backend, Receiver<()>, std::sync::mpsc::Sender<()>) {
    let (ended, ends) = channel();
    let (go, gone) = channel();
    let gone = std::sync::Mutex::new(gone);
    let backend = Backend::scripted(move |connection| {
        while let Some(head) = connection.request() {
            if head.starts_with("GET /late") {
                gone.lock().unwrap().recv().unwrap();
                return connection.answer("late");
            }
            if head.contains("websocket") {
                connection.write(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
                );
                let said = connection.exactly(4);
                return connection.write(said.to_uppercase());
            }
            connection.answer("ending");
        }
        let _ = ended.send(());
    });
    (backend, ends, go)
}

/// EndpointConditions `terminating`: nothing new, connections that wait are closed, and what runs goes on.
#[test]
fn an_endpoint_that_is_ending_loses_new_requests_at_once_and_keeps_what_runs() {
    let (old, ends, go) = ending();
    let new = Backend::named("new");
    let (mut running, _) = start(&gateway(&[old.address]));
    let mut websocket = running.client();
    websocket.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    assert_eq!(websocket.head().status, 101);
    let mut late = running.client();
    late.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
    let waits = |head: &str| head.starts_with("GET /late");
    while !waits(&old.head()) {}
    assert_eq!(named(&running, "ending", 3), 3);
    let instances =
        vec![instance(old.address, EndpointState::Draining), instance(new.address, EndpointState::Ready)];
    let gateway = Gateway::new().http("", Rules::new().to("/", "web")).instances("web", instances.clone());
    running.apply(&gateway.model());
    ends.recv_timeout(PATIENCE).expect("a connection that waited for a request has ended");
    assert_eq!(named(&running, "new", 20), 20);
    go.send(()).unwrap();
    assert_eq!(late.answer().body, "late");
    websocket.send("ping");
    assert_eq!(websocket.exactly(4), "PING");
    // While none is ready, those that are ending are used.
    running.apply(
        &Gateway::new()
            .http("", Rules::new().to("/", "web"))
            .instances("web", instances[..1].to_vec())
            .model(),
    );
    assert_eq!(named(&running, "ending", 3), 3);
}

/// No request fails while endpoints come, end and go.
#[test]
fn endpoints_that_come_and_end_under_load_cost_no_request() {
    let backends = [Backend::named("a"), Backend::named("b"), Backend::named("c")];
    let gateway = |turn: usize| {
        let state = |index: usize| match (index + turn) % 3 {
            0 => EndpointState::Draining,
            _ => EndpointState::Ready,
        };
        let here = backends.iter().enumerate().filter(|(index, _)| (index + turn) % 4 != 3);
        let instances = here.map(|(index, backend)| instance(backend.address, state(index))).collect();
        Gateway::new().http("", Rules::new().to("/", "web")).instances("web", instances)
    };
    let mut running = Running::with(&gateway(0), ProxyOptions { workers: 2, ..Running::options() });
    let address = running.address();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = Client::connect(address);
                    let mut served = 0;
                    while !done.load(Ordering::SeqCst) || served == 0 {
                        assert_eq!(client.get("a", "/").status, 200);
                        served += 1;
                    }
                })
            })
            .collect();
        for turn in 1..60 {
            running.apply(&gateway(turn).model());
            assert_eq!(running.client().get("a", "/").status, 200);
        }
        done.store(true, Ordering::SeqCst);
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
}

/// KEP-2433: endpoints that are meant for the proxy's zone take its requests, as far as it is known where it stands.
#[test]
fn endpoints_for_the_proxys_zone_are_preferred() {
    let backends = [Backend::named("a"), Backend::named("b")];
    let meant = |zone: &str| Hints { zones: vec![zone.into()], nodes: Vec::new() };
    let instances = vec![
        Endpoint { hints: meant("a"), ..instance(backends[0].address, EndpointState::Ready) },
        Endpoint { hints: meant("b"), ..instance(backends[1].address, EndpointState::Ready) },
    ];
    let gateway = Gateway::new().http("", Rules::new().to("/", "web")).instances("web", instances);
    let at = |zone: &str| Locality { zone: Some(zone.into()), node: None };
    let running = Running::with(&gateway, ProxyOptions { locality: at("a"), ..Running::options() });
    assert_eq!(named(&running, "a", 10), 10);
    running.proxy.locate(at("b"));
    assert_eq!(named(&running, "b", 10), 10);
    running.proxy.locate(Locality::default());
    assert_eq!((named(&running, "a", 10), named(&running, "b", 10)), (5, 5));
}

/// The admin endpoint lists where requests may go.
#[test]
fn endpoints_are_listed_with_what_is_known_of_them() {
    let (good, bad, gone) = (Backend::named("good"), broken(), Backend::named("gone"));
    let instances = vec![
        instance(good.address, EndpointState::Ready),
        instance(bad.address, EndpointState::Ready),
        instance(gone.address, EndpointState::Draining),
    ];
    let gateway = Gateway::new().http("", Rules::new().to("/", "web")).instances("web", instances);
    let (running, clock) = start(&gateway);
    answers(&running, "/", 20);
    clock.advance(Duration::from_millis(12_300));
    let (status, listed) = admin(running.proxy.admin().unwrap(), "/endpoints");
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let mut endpoints = vec![
        serde_json::json!({"address": good.address.to_string(), "state": "ready", "used": true}),
        serde_json::json!({"address": bad.address.to_string(), "state": "ready", "used": false,
            "ejectedForSeconds": 18}),
        serde_json::json!({"address": gone.address.to_string(), "state": "draining", "used": false}),
    ];
    endpoints.sort_by_key(|endpoint| endpoint["address"].as_str().unwrap().parse::<SocketAddr>().unwrap());
    let expected = serde_json::json!({"backends": [{
        "kind": "Service", "namespace": "default", "name": "web", "port": 80, "protocol": "TCP",
        "endpoints": endpoints,
    }]});
    assert_eq!(status, 200);
    assert_eq!(
        listed["backends"].as_array().unwrap().iter().find(|one| one["protocol"] == "TCP"),
        expected["backends"].get(0)
    );
}
