//! Shares of backends that are not there: each fails for itself, and none is given to another.

use std::time::Duration;

use http::Request;
use portcullis_model::{Action, Failure, FailureReason, Forward, Target, WeightedBackend};

use crate::support::http2::{Http2, run};
use crate::support::http2_backend::Http2Backend;
use crate::support::model::forward;
use crate::support::{Backend, Gateway, Rules, Running};

/// A backend with its share beside one that is invalid, and one without endpoints.
fn shares(good: (&str, u32), invalid: u32, empty: u32) -> Action {
    let Action::Forward(Forward { mut backends }) = forward(&[good, ("invalid", invalid), ("empty", empty)])
    else {
        unreachable!()
    };
    let reason = FailureReason::BackendInvalid;
    let failure = Failure { status: 500, reason, message: "backend does not exist".into() };
    backends[1] = WeightedBackend { target: Target::Fail(failure), ..backends[1].clone() };
    Action::Forward(Forward { backends })
}

fn count<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().filter(|status| *status == one).count()
}

/// BackendRef.weight, HTTPRouteRule.backendRefs: of an invalid backend's share the answer is 500, of one without
/// endpoints 503.
#[test]
fn the_share_of_a_backend_that_is_invalid_or_empty_fails_and_no_more() {
    let good = Backend::named("good");
    let gateway = Gateway::new().http("", Rules::new().rule("/", shares(("good", 85), 10, 5)));
    let running = Running::start(&gateway.backend("good", &[good.address]).backend("empty", &[]));
    let mut client = running.client();
    let statuses: Vec<u16> = (0..2_000).map(|_| client.get("a", "/").status).collect();
    assert_eq!([200, 500, 503].map(|status| count(&statuses, &status)), [1_700, 200, 100]);
}

/// What is 500 or 503 to others is gRPC status 14 in a trailers-only answer.
#[test]
fn the_share_of_a_backend_that_is_invalid_or_empty_fails_calls_with_unavailable() {
    let good = Http2Backend::named("good");
    let rules = Rules::new().call("", "", shares(("good-h2c", 85), 10, 5));
    let gateway = Gateway::new().grpc("", Rules::new(), rules);
    let running = Running::start(&gateway.backend("good-h2c", &[good.address]).backend("empty", &[]));
    run(async {
        let mut client = Http2::connect(running.address()).await;
        let mut statuses = Vec::new();
        for _ in 0..400 {
            let call = Request::post("http://a/a.B/C").header("content-type", "application/grpc");
            let answer = client.send(call.body(()).unwrap()).await.unwrap();
            assert_eq!((answer.status(), answer.trailers.is_none()), (200, true));
            let status = answer.head.headers().get("grpc-status");
            statuses.push(status.map(|status| status.to_str().unwrap().to_owned()));
        }
        assert_eq!((count(&statuses, &None), count(&statuses, &Some("14".to_owned()))), (340, 60));
    });
}

/// An upgrade is a request like any other until it is answered: 503 without endpoints, 500 of what is invalid, and
/// the connection lives.
#[test]
fn an_upgrade_to_no_endpoint_is_503() {
    let rules = Rules::new().to("/empty", "empty").rule("/invalid", shares(("empty", 0), 1, 0));
    let running = Running::start(&Gateway::new().http("", rules).backend("empty", &[]));
    let expected = [("/empty", 503), ("/invalid", 500)];
    let mut client = running.client();
    for (path, status) in expected {
        client.send(format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        ));
        assert_eq!(client.answer().status, status, "{path}");
    }
    run(async {
        let mut client = Http2::connect(running.address()).await;
        while !client.tunnels() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for (path, status) in expected {
            let mut request = Request::connect(format!("http://a{path}")).body(()).unwrap();
            request.extensions_mut().insert(h2::ext::Protocol::from_static("websocket"));
            let (answer, _body) = client.begin(request, false).await;
            assert_eq!(answer.await.unwrap().status(), status, "{path} over HTTP/2");
        }
    });
}
