//! UDP listeners: a client's datagrams are a flow to one endpoint, and its answers come from where it asked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portcullis_model::{
    Age, Endpoint, EndpointAddress, EndpointState, L4Route, ListenerProtocol, Transport, UpstreamProtocol,
};
use portcullis_proxy::{BindFailure, Drain};

use crate::support::model::{l4_route, tcp_route};
use crate::support::{Gateway, PATIENCE, Running, eventually};

/// A backend that answers each datagram with its name, the number of its clients so far, and the datagram.
struct UdpBackend {
    address: SocketAddr,
    received: Arc<AtomicUsize>,
}

impl UdpBackend {
    fn named(name: &'static str) -> UdpBackend {
        UdpBackend::at(name, Ipv4Addr::LOCALHOST.into())
    }

    fn at(name: &'static str, ip: IpAddr) -> UdpBackend {
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        let received = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&received);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 70_000];
            let mut clients = Vec::new();
            while let Ok((length, client)) = socket.recv_from(&mut buffer) {
                counted.fetch_add(1, Ordering::SeqCst);
                if !clients.contains(&client) {
                    clients.push(client);
                }
                if length > 60_000 {
                    socket.send_to(&buffer[..length], client).unwrap(); // as it came
                    continue;
                }
                let text = String::from_utf8_lossy(&buffer[..length]);
                let number = clients.iter().position(|known| *known == client).unwrap();
                socket.send_to(format!("{name} {number} {text}").as_bytes(), client).unwrap();
            }
        });
        UdpBackend { address, received }
    }
}

fn route(name: &str, backends: &[(&str, u32)]) -> Arc<L4Route> {
    l4_route(name, &[""], UpstreamProtocol::Udp, backends)
}

fn gateway(backends: &[(&str, u32)]) -> Gateway {
    Gateway::new().below("", ListenerProtocol::Udp(vec![route("udp", backends)]))
}

fn client(running: &Running) -> UdpSocket {
    client_of(running.address())
}

fn client_of(address: SocketAddr) -> UdpSocket {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(address).unwrap(); // it hears answers from there alone
    socket
}

fn ask(client: &UdpSocket, text: &str) -> String {
    client.send(text.as_bytes()).unwrap();
    answer(client)
}

fn answer(client: &UdpSocket) -> String {
    let mut buffer = [0; 2048];
    let length = client.recv(&mut buffer).expect("an answer in time");
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

fn metric(running: &Running, name: &str) -> u64 {
    running
        .metrics()
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
        .unwrap_or(0)
}

fn sessions(running: &Running, reason: &str) -> u64 {
    metric(running, &format!("portcullis_sessions_total{{protocol=\"udp\",reason=\"{reason}\"}}"))
}

/// A flow is one client's datagrams, and has one socket towards the endpoint.
#[test]
fn a_client_is_a_flow_with_a_socket_of_its_own() {
    let backend = UdpBackend::named("a");
    let running = Running::start(&gateway(&[("app", 1)]).backend("app", &[backend.address]));
    let (one, other) = (client(&running), client(&running));
    assert_eq!(ask(&one, "x"), "a 0 x");
    assert_eq!(ask(&other, "y"), "a 1 y");
    assert_eq!(ask(&one, "z"), "a 0 z");
    one.send(b"").unwrap(); // an empty datagram is one
    assert_eq!(answer(&one), "a 0 ");
}

/// Weights hold for flows; of several routes the oldest serves alone.
#[test]
fn flows_are_shared_by_weight_of_the_oldest_route() {
    let backends = ["a", "b", "c", "young"].map(|name| (name, UdpBackend::named(name)));
    let mut old = route("old", &[("a", 7), ("b", 3), ("c", 0)]);
    Arc::make_mut(&mut old).age = Age::created_at(1);
    let mut gateway =
        Gateway::new().below("", ListenerProtocol::Udp(vec![route("another", &[("young", 1)]), old]));
    for (name, backend) in &backends {
        gateway = gateway.backend(name, &[backend.address]);
    }
    let running = Running::start(&gateway);
    let answers: Vec<String> = (0..20).map(|_| ask(&client(&running), "")).collect();
    let count = |name: &str| answers.iter().filter(|answer| answer.starts_with(name)).count();
    assert_eq!((count("a"), count("b"), count("c"), count("young")), (14, 6, 0, 0));
}

/// The largest datagram that IPv4 has arrives whole, both ways.
#[test]
fn the_largest_datagrams_arrive_whole() {
    let backend = UdpBackend::named("a");
    let running = Running::start(&gateway(&[("app", 1)]).backend("app", &[backend.address]));
    let client = client(&running);
    let sent: Vec<u8> = (0..65_507u32).map(|n| n as u8).collect();
    client.send(&sent).unwrap();
    let mut buffer = vec![0; 70_000];
    let length = client.recv(&mut buffer).expect("an answer in time");
    assert!(buffer[..length] == sent, "{length} bytes");
}

/// A socket that has every address answers from the one that was asked; the client hears no other.
#[test]
fn an_answer_comes_from_the_address_that_was_asked() {
    let backend = UdpBackend::named("a");
    for (every, asked) in [
        (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77))),
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into()),
    ] {
        let gateway = gateway(&[("app", 1)]).at_any(every).backend("app", &[backend.address]);
        let running = Running::start(&gateway);
        let client = client_of(SocketAddr::new(asked, running.address().port()));
        assert!(ask(&client, "x").ends_with(" x"));
    }
}

#[test]
fn an_endpoint_may_be_reached_over_ipv6() {
    let backend = UdpBackend::at("six", Ipv6Addr::LOCALHOST.into());
    let running = Running::start(&gateway(&[("app", 1)]).backend("app", &[backend.address]));
    assert_eq!(ask(&client(&running), "x"), "six 0 x");
}

/// A share that leads nowhere is dropped, whole flows of it.
#[test]
fn a_share_that_leads_nowhere_is_dropped() {
    for (backends, reason) in
        [(&[("app", 1)][..], "no_endpoint"), (&[("app", 0)], "zero_weight"), (&[], "no_backends")]
    {
        let running = Running::limited(&gateway(backends).backend("app", &[]), |limits| {
            limits.udp_idle_timeout = Duration::from_millis(100);
        });
        let client = client(&running);
        client.send(b"x").unwrap();
        eventually(|| (sessions(&running, reason) == 1).then_some(()));
        assert_eq!(metric(&running, "portcullis_udp_dropped_datagrams_total"), 1);
    }
}

/// Silence in both directions is the end of a flow; its client's next datagram begins another.
#[test]
fn silence_ends_a_flow() {
    let backend = UdpBackend::named("a");
    let gateway = gateway(&[("app", 1)]).backend("app", &[backend.address]);
    let running = Running::limited(&gateway, |limits| limits.udp_idle_timeout = Duration::from_millis(100));
    let client = client(&running);
    assert_eq!(ask(&client, "x"), "a 0 x");
    eventually(|| (sessions(&running, "ok") == 1).then_some(()));
    assert_eq!(ask(&client, "y"), "a 1 y");
}

/// Where all places are taken, the oldest flow without an answer makes room, and one with answers stays.
#[test]
fn flows_are_bounded_and_answered_ones_stay() {
    let backend = UdpBackend::named("a");
    let silent = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let gateway = gateway(&[("a", 1), ("silent", 1)])
        .backend("a", &[backend.address])
        .backend("silent", &[silent.local_addr().unwrap()]);
    let running = Running::limited(&gateway, |limits| limits.udp_flows = 2);
    let (answered, forged) = (client(&running), client(&running));
    assert_eq!(ask(&answered, "x"), "a 0 x");
    forged.send(b"x").unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    silent.recv_from(&mut [0; 8]).unwrap();
    assert_eq!(ask(&client(&running), "y"), "a 1 y");
    eventually(|| (sessions(&running, "flow_limit") == 1).then_some(()));
    assert_eq!(ask(&answered, "z"), "a 0 z");
    client(&running).send(b"none has room").unwrap();
    eventually(|| (metric(&running, "portcullis_refused_total{reason=\"flow_limit\"}") == 1).then_some(()));
}

/// An endpoint that is ending keeps its flows, and gets no new ones.
#[test]
fn a_flow_stays_at_an_endpoint_that_is_ending() {
    let (old, new) = (UdpBackend::named("old"), UdpBackend::named("new"));
    let mut running = Running::start(&gateway(&[("app", 1)]).backend("app", &[old.address]));
    let first = client(&running);
    assert_eq!(ask(&first, "x"), "old 0 x");
    let ready = |address| Endpoint::ready(EndpointAddress::Socket(address));
    let ending = Endpoint { state: EndpointState::Draining, ..ready(old.address) };
    let gateway = gateway(&[("app", 1)]).instances("app", vec![ending, ready(new.address)]);
    running.apply(&gateway.model());
    assert_eq!(ask(&first, "y"), "old 0 y");
    assert_eq!(ask(&client(&running), "x"), "new 0 x");
}

/// A flow follows the configuration: its endpoint gone, the client's next datagram goes to another.
#[test]
fn a_flow_whose_endpoint_is_gone_begins_anew_and_others_stay() {
    let (old, new) = (UdpBackend::named("old"), UdpBackend::named("new"));
    let mut running = Running::start(&gateway(&[("app", 1)]).backend("app", &[old.address]));
    let client = client(&running);
    assert_eq!(ask(&client, "x"), "old 0 x");
    running.apply(&gateway(&[("app", 1)]).backend("app", &[old.address, new.address]).model());
    assert_eq!(ask(&client, "y"), "old 0 y");
    running.apply(&gateway(&[("app", 1)]).backend("app", &[new.address]).model());
    assert_eq!(ask(&client, "z"), "new 0 z");
    eventually(|| (sessions(&running, "rerouted") == 1).then_some(()));
    assert_eq!(old.received.load(Ordering::SeqCst), 2);
}

/// TCP and UDP of one number have nothing to do with each other.
#[test]
fn tcp_and_udp_share_a_port_number() {
    let backend = UdpBackend::named("a");
    let both = gateway(&[("app", 1)])
        .below("", ListenerProtocol::Tcp(vec![tcp_route(&[("app", 0)])]))
        .backend("app", &[backend.address]);
    let running = Running::start(&both);
    let of = |transport| running.bound.iter().find(|(bound, _)| bound.transport == transport).unwrap().1;
    assert_eq!(ask(&client_of(of(Transport::Udp)), "x"), "a 0 x");
    assert!(TcpStream::connect(of(Transport::Tcp)).is_ok());
}

/// A port that another process has is reported, as for TCP.
#[test]
fn a_port_in_use_is_reported() {
    let taken = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let mut model = (*gateway(&[]).model()).clone();
    let (mut address, port) = model.ports.pop_first().unwrap();
    address.port = taken.local_addr().unwrap().port();
    model.ports.insert(address, port);
    let running = Running::idle(Running::options());
    running.proxy.apply(&Arc::new(model));
    let report = running.reports.recv_timeout(PATIENCE).unwrap();
    assert_eq!((report.address, report.result), (address, Err(BindFailure::InUse)));
}

/// While it drains, a proxy begins no flow and ends those that it has soon.
#[test]
fn a_draining_proxy_ends_its_flows() {
    let backend = UdpBackend::named("a");
    let gateway = gateway(&[("app", 1)]).backend("app", &[backend.address]);
    let running = Running::limited(&gateway, |limits| limits.drain_idle_timeout = Duration::from_millis(100));
    assert_eq!(ask(&client(&running), "x"), "a 0 x");
    assert!(running.proxy.drain(Drain { delay: Duration::ZERO, timeout: PATIENCE }));
    assert_eq!(sessions(&running, "ok"), 1);
}
