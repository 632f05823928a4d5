//! Connections that last longer than what is changed around them.

use crate::{
    client::{Kept, echoes},
    site::{SITE, route, service},
    stage::{Stage, eventually},
};

/// The port of the TCP listener.
const PORT: u16 = 9000;

/// Changes that have nothing to do with a WebSocket and a TCP connection, or say again what is said already, and an API
/// server that was away and has forgotten: both live, and new ones are taken all the while.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_concern_a_connection_does_not_end_it() {
    let Some(mut stage) = Stage::start("tunnels").await else { return };
    let address = stage.serve_site().await;
    let machine = stage.cluster.network().machine_address();
    let port = echoes(machine).await;
    stage.cluster.apply(&format!("{GATEWAY}---\n{}", service("sockets", machine, port))).unwrap();
    stage.cluster.apply(&route("sockets", "sockets.example").replace("name: echo", "name: sockets")).unwrap();
    stage.accepted(SITE, "sockets").await;
    let mut tunnel =
        eventually("the tunnel is open", async || Kept::upgrade(&address, "sockets.example").await.ok())
            .await;
    let mut stream = eventually("TCP is served", async || {
        let mut stream = Kept::open(&address, PORT).await.ok()?;
        stream.echo("first").await.ok().map(|()| stream)
    })
    .await;

    let mut wrong = Vec::new();
    for (what, file) in [
        ("labels of its Gateway", None),
        ("labels of its route", None),
        ("another Gateway", Some(OTHER_GATEWAY.to_owned())),
        ("another route", Some(route("other", "other.example"))),
        ("a ListenerSet", Some(LISTENER_SET.to_owned())),
        ("a policy of another Service", Some(POLICY.to_owned())),
        (
            "its route as it is",
            Some(route("sockets", "sockets.example").replace("name: echo", "name: sockets")),
        ),
        ("its endpoints as they are", Some(service("sockets", machine, port))),
    ] {
        match &file {
            Some(file) => stage.cluster.apply(file).unwrap(),
            None => {
                let object = if what.contains("route") { "httproute/sockets" } else { "gateway/web" };
                stage.kubectl(&["label", object, "--namespace", SITE, "touched=yes"]);
            }
        }
        settled(&stage, &address, what).await;
        wrong.extend(both(&mut tunnel, &mut stream, what).await);
    }
    for object in ["gateway/other", "httproute/other", "listenerset/more", "backendtlspolicy/other"] {
        stage.kubectl(&["delete", object, "--namespace", SITE]);
        settled(&stage, &address, &format!("without {object}")).await;
        wrong.extend(both(&mut tunnel, &mut stream, object).await);
    }
    stage.cluster.kill_apiserver();
    stage.cluster.compact_etcd().unwrap();
    wrong.extend(both(&mut tunnel, &mut stream, "an API server that is away").await);
    wrong.extend(new_ones(&address, "an API server that is away").await);
    stage.cluster.restart_apiserver().await.unwrap();
    settled(&stage, &address, "after all").await;
    wrong.extend(both(&mut tunnel, &mut stream, "an API server that is back").await);
    wrong.extend(new_ones(&address, "an API server that is back").await);
    assert_eq!(wrong, [""; 0]);
}

/// Waits until what is changed after everything else is in effect.
async fn settled(stage: &Stage, address: &str, what: &str) {
    let host: String = what.chars().filter(char::is_ascii_lowercase).chain(".last".chars()).collect();
    stage.cluster.apply(&route("last", &host)).unwrap();
    eventually(&format!("{host} is served"), async || {
        crate::client::get(address, &host, "/").await.ok().filter(|(status, _)| *status == 200)
    })
    .await;
}

async fn both(tunnel: &mut Kept, stream: &mut Kept, what: &str) -> Vec<String> {
    let said = [tunnel.echo("tunnel").await, stream.echo("stream").await];
    said.into_iter().filter_map(Result::err).map(|error| format!("{what}: {error}")).collect()
}

async fn new_ones(address: &str, what: &str) -> Vec<String> {
    match (Kept::upgrade(address, "sockets.example").await, Kept::open(address, PORT).await) {
        (Ok(mut tunnel), Ok(mut stream)) => both(&mut tunnel, &mut stream, what).await,
        (tunnel, stream) => {
            vec![format!("{what}: no new ones, {:?}, {:?}", tunnel.err(), stream.err())]
        }
    }
}

const GATEWAY: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: site, name: web}
spec:
  gatewayClassName: portcullis
  allowedListeners: {namespaces: {from: Same}}
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: tcp, protocol: TCP, port: 9000}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: site, name: sockets}
spec:
  parentRefs: [{name: web, sectionName: tcp}]
  rules: [{backendRefs: [{name: sockets, port: 80}]}]
";

const OTHER_GATEWAY: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: site, name: other}
spec:
  gatewayClassName: portcullis
  listeners: [{name: http, protocol: HTTP, port: 80}]
";

const LISTENER_SET: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: site, name: more}
spec:
  parentRef: {name: web}
  listeners: [{name: http, protocol: HTTP, port: 80, hostname: more.example}]
";

const POLICY: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {namespace: site, name: other}
spec:
  targetRefs: [{group: '', kind: Service, name: nobody}]
  validation: {hostname: a.example, wellKnownCACertificates: System}
";
