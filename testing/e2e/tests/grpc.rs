//! gRPC through the gateway with a client and a server that others wrote: every sort of call, what goes wrong, and
//! how little a long stream costs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use portcullis_e2e::{Portcullis, ports, program};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder, Streaming};
use tonic::codegen::http;
use tonic::server::NamedService;
use tonic::transport::{Channel, Endpoint, Server, server::TcpIncoming};
use tonic::{Code, Request, Response, Status};
use tower::Service;

/// Messages are bytes as they are.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// The service `test.Echo`.
#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "test.Echo";
}

impl Service<http::Request<tonic::body::Body>> for Echo {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let method = Method(request.uri().path().to_owned());
        Box::pin(async move { Ok(tonic::server::Grpc::new(Raw).streaming(method, request).await) })
    }
}

struct Method(String);

impl Service<Request<Streaming<Bytes>>> for Method {
    type Response = Response<BoxStream<'static, Result<Bytes, Status>>>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Self::Response, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Self::Future {
        let method = std::mem::take(&mut self.0);
        Box::pin(async move {
            let metadata = request.metadata().clone();
            let mut messages = request.into_inner();
            Ok(Response::new(match &*method {
                "/test.Echo/Each" => messages.boxed(),
                "/test.Echo/Sum" => {
                    let sum = messages.try_fold(0, async |sum, message| Ok(sum + message.len())).await?;
                    stream::iter([Ok(sum.to_string().into())]).boxed()
                }
                "/test.Echo/Many" => {
                    let count = usize::from(messages.message().await?.unwrap_or_default().get_u16());
                    stream::iter((0..count).map(|number| Ok(number.to_string().into()))).boxed()
                }
                "/test.Echo/Metadata" => {
                    let name = messages.message().await?.unwrap_or_default();
                    let value = metadata.get(std::str::from_utf8(&name).unwrap_or_default());
                    let value = value.map_or(Bytes::new(), |value| Bytes::copy_from_slice(value.as_bytes()));
                    stream::iter([Ok(value)]).boxed()
                }
                _ => return Err(Status::not_found("none such")),
            }))
        })
    }
}

/// Starts the service.
async fn serve() -> SocketAddr {
    let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = incoming.local_addr().unwrap();
    tokio::spawn(Server::builder().add_service(Echo).serve_with_incoming(incoming));
    address
}

/// A gateway whose GRPCRoute leads to the service, and to one that is nowhere.
fn gateway(port: u16, service: SocketAddr) -> (tempfile::TempDir, Portcullis) {
    let folder = tempfile::tempdir().unwrap();
    let resources = format!(
        r#"
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: portcullis}}
spec: {{controllerName: portcullis.dev/gateway-controller}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: gw}}
spec: {{gatewayClassName: portcullis, listeners: [{{name: web, port: {port}, protocol: HTTP}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {{name: calls}}
spec:
  parentRefs: [{{name: gw}}]
  rules:
    - matches: [{{method: {{service: test.Echo}}}}]
      filters:
        - type: RequestHeaderModifier
          requestHeaderModifier: {{set: [{{name: x-set, value: edge}}], remove: [x-gone]}}
      backendRefs: [{{name: echo, port: 80}}]
    - matches: [{{method: {{service: test.Nowhere}}}}]
      backendRefs: [{{name: nowhere, port: 80}}]
---
apiVersion: v1
kind: Service
metadata: {{name: echo}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: echo-1, labels: {{kubernetes.io/service-name: echo}}}}
addressType: IPv4
ports: [{{port: {}}}]
endpoints: [{{addresses: ["127.0.0.1"]}}]
---
apiVersion: v1
kind: Service
metadata: {{name: nowhere}}
spec: {{ports: [{{port: 80}}]}}
"#,
        service.port()
    );
    fs::write(folder.path().join("all.yaml"), resources).unwrap();
    let running = Portcullis::run(folder.path(), [] as [&str; 0]);
    (folder, running)
}

struct Client(tonic::client::Grpc<Channel>);

impl Client {
    async fn connect(port: u16) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).unwrap();
        Client(tonic::client::Grpc::new(endpoint.connect().await.unwrap()))
    }

    async fn unary(&mut self, path: &'static str, request: Request<Bytes>) -> Result<Bytes, Status> {
        self.0.ready().await.unwrap();
        let path = http::uri::PathAndQuery::from_static(path);
        self.0.unary(request, path, Raw).await.map(Response::into_inner)
    }

    async fn streaming(
        &mut self,
        path: &'static str,
        messages: impl Stream<Item = Bytes> + Send + 'static,
    ) -> Result<Streaming<Bytes>, Status> {
        self.0.ready().await.unwrap();
        let path = http::uri::PathAndQuery::from_static(path);
        self.0.streaming(Request::new(messages), path, Raw).await.map(Response::into_inner)
    }
}

fn run(test: impl Future<Output = ()>) {
    program::binary(); // building it takes time of its own
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let test: Pin<Box<dyn Future<Output = ()> + '_>> = Box::pin(test);
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("in time") });
}

async fn all(answers: Streaming<Bytes>) -> Vec<Bytes> {
    answers.try_collect().await.unwrap()
}

#[test]
fn calls_of_every_sort_pass() {
    run(async {
        let port = ports::free();
        let _running = gateway(port, serve().await);
        let mut client = Client::connect(port).await;
        assert_eq!(client.unary("/test.Echo/Each", Request::new("one".into())).await.unwrap(), "one");
        let messages = || stream::iter(["a", "bc", ""].map(Bytes::from));
        assert_eq!(all(client.streaming("/test.Echo/Sum", messages()).await.unwrap()).await, ["3"]);
        let count = stream::iter([Bytes::copy_from_slice(&1000_u16.to_be_bytes())]);
        let many = all(client.streaming("/test.Echo/Many", count).await.unwrap()).await;
        assert_eq!((many.len(), &many[999][..]), (1000, &b"999"[..]));
        assert_eq!(
            all(client.streaming("/test.Echo/Each", messages()).await.unwrap()).await,
            ["a", "bc", ""]
        );
    });
}

/// Each message comes back before the next one goes.
#[test]
fn both_directions_of_a_stream_are_open_at_once() {
    run(async {
        let port = ports::free();
        let _running = gateway(port, serve().await);
        let mut client = Client::connect(port).await;
        let (said, heard) = futures::channel::mpsc::unbounded();
        let mut answers = client.streaming("/test.Echo/Each", heard).await.unwrap();
        for number in 0..100 {
            said.unbounded_send(Bytes::from(number.to_string())).unwrap();
            assert_eq!(answers.message().await.unwrap().unwrap(), number.to_string());
        }
        drop(said);
        assert!(answers.message().await.unwrap().is_none());
    });
}

/// GRPCRouteRequestHeaderModifier for real, and the deadline as the client said it.
#[test]
fn metadata_is_as_the_route_has_it() {
    run(async {
        let port = ports::free();
        let _running = gateway(port, serve().await);
        let mut client = Client::connect(port).await;
        let mut asked = async |name: &'static str| {
            let mut request = Request::new(Bytes::from(name));
            request.set_timeout(Duration::from_secs(20));
            for (name, value) in [("x-set", "client"), ("x-gone", "client"), ("x-kept", "client")] {
                request.metadata_mut().insert(name, value.parse().unwrap());
            }
            client.unary("/test.Echo/Metadata", request).await.unwrap()
        };
        assert_eq!((asked("x-set").await, asked("x-gone").await), ("edge".into(), Bytes::new()));
        assert_eq!(asked("x-kept").await, "client");
        assert_eq!(asked("grpc-timeout").await, "20000000u");
    });
}

#[test]
fn errors_of_the_service_and_of_the_gateway_are_grpc_statuses() {
    run(async {
        let port = ports::free();
        let _running = gateway(port, serve().await);
        let mut client = Client::connect(port).await;
        let mut failure = async |path| {
            let status = client.unary(path, Request::new(Bytes::new())).await.unwrap_err();
            (status.code(), status.message().to_owned())
        };
        assert_eq!(failure("/test.Echo/Unknown").await, (Code::NotFound, "none such".to_owned()));
        assert_eq!(failure("/test.Other/Each").await, (Code::Unimplemented, "no_rule".to_owned()));
        assert_eq!(failure("/test.Nowhere/Each").await, (Code::Unavailable, "no_endpoint".to_owned()));
    });
}

#[test]
fn a_long_stream_costs_no_memory() {
    const MESSAGE: usize = 64 << 10;
    // A development build of the program takes its time.
    let slow = std::env::var("PORTCULLIS_E2E_PROFILE").is_ok_and(|profile| profile == "dev");
    let long = if slow { 256 << 20 } else { 1 << 30 };
    run(async {
        let port = ports::free();
        let (_folder, running) = gateway(port, serve().await);
        let mut client = Client::connect(port).await;
        let mut pass = async |bytes: usize| {
            let messages = stream::repeat(Bytes::from(vec![7; MESSAGE])).take(bytes / MESSAGE);
            let mut answers = client.streaming("/test.Echo/Each", messages).await.unwrap();
            let (mut passed, mut most) = (0, 0);
            while let Some(message) = answers.message().await.unwrap() {
                passed += message.len();
                if passed % (4 << 20) == 0 {
                    most = running.resident().max(most);
                }
            }
            assert_eq!(passed, bytes);
            most
        };
        let before = pass(16 << 20).await;
        let most = pass(long).await;
        assert!(most < before + (5 << 20), "{before} bytes before, {most} at most");
    });
}
