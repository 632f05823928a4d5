//! WebSockets that say nothing while everything beside them changes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tungstenite::{Message, WebSocket};

use crate::versions::History;
use crate::world::{self, Change, HOST, World};

const WEBSOCKETS: usize = 100;
const CHANGES: usize = 2000;

/// A backend that says back what is said.
fn backend() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            thread::spawn(move || {
                let Ok(mut socket) = tungstenite::accept(stream) else { return };
                while let Ok(message) = socket.read() {
                    if socket.send(message).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// A route of the host under load to the backend, by its path.
fn resources(backend: SocketAddr) -> String {
    let port = backend.port();
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: websockets}}\nspec:\n  \
         parentRefs: [{{name: load}}]\n  hostnames: [{HOST}]\n  rules:\n  - matches: [{{path: {{value: /websocket}}}}]\n    \
         backendRefs: [{{name: websockets, port: 80}}]\n---\n\
         apiVersion: v1\nkind: Service\nmetadata: {{name: websockets}}\nspec: {{ports: [{{port: 80}}]}}\n---\n\
         apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: websockets-1\n  \
         labels: {{kubernetes.io/service-name: websockets}}\naddressType: IPv4\n\
         endpoints: [{{addresses: [127.0.0.1]}}]\nports: [{{port: {port}}}]\n"
    )
}

/// A connection of either sort.
trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// The WebSocket of this number: each second one is over TLS.
fn open(world: &World, number: usize) -> WebSocket<Box<dyn Stream>> {
    let stream: Box<dyn Stream> = if number.is_multiple_of(2) {
        Box::new(connect(world.http()))
    } else {
        let config = world.authority().client(&[b"http/1.1"]);
        let client = ClientConnection::new(config, ServerName::try_from(HOST).unwrap()).unwrap();
        Box::new(StreamOwned::new(client, connect(world.https())))
    };
    tungstenite::client(format!("ws://{HOST}/websocket"), stream).map(|(socket, _)| socket).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    stream
}

fn answers(socket: &mut WebSocket<Box<dyn Stream>>, said: String) -> bool {
    let message = Message::from(said);
    socket.send(message.clone()).is_ok() && socket.read().is_ok_and(|answer| answer == message)
}

#[test]
fn idle_websockets_outlive_what_does_not_concern_them() {
    let _alone = world::alone();
    let mut world = World::start(Arc::new(History::default()));
    world.write("websockets.yaml", &resources(backend()));
    world.make(Change::Bystander); // so that the file before it is served, too
    let mut sockets: Vec<_> = (0..WEBSOCKETS).map(|number| open(&world, number)).collect();
    for (number, socket) in sockets.iter_mut().enumerate() {
        assert!(answers(socket, format!("{number} before")), "{number}");
    }
    for number in 0..CHANGES {
        world.make(Change::of(number));
    }
    let dropped: Vec<usize> = (sockets.iter_mut().enumerate())
        .filter_map(|(number, socket)| (!answers(socket, format!("{number} after"))).then_some(number))
        .collect();
    assert_eq!(dropped, Vec::<usize>::new(), "dropped");
}
