//! Names of endpoints, resolved again when their answer's time to live ends.

use std::cell::{Cell, OnceCell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hickory_resolver::{ResolverBuilder, TokioResolver};

type Map<K, V> = hashbrown::HashMap<K, V, foldhash::fast::RandomState>;

/// How long an answer is used after its time to live while the name does not resolve: an outage of DNS is no
/// outage of a backend that has not moved.
const STALE: Duration = Duration::from_secs(300);
/// The least time between two resolutions of a name, whatever its time to live.
const AT_LEAST: Duration = Duration::from_secs(1);

/// The names that a worker has resolved.
#[derive(Default)]
pub(crate) struct Dns {
    resolver: OnceCell<Option<TokioResolver>>,
    answers: RefCell<Map<String, Rc<Answer>>>,
}

struct Answer {
    addresses: Vec<IpAddr>,
    valid_until: Instant,
    /// Which address is tried next.
    turn: Cell<usize>,
}

impl Answer {
    /// The addresses, each in its turn the first.
    fn in_turn(&self) -> Vec<IpAddr> {
        let turn = self.turn.replace(self.turn.get().wrapping_add(1));
        let mut addresses = self.addresses.clone();
        let first = turn.checked_rem(addresses.len()).unwrap_or(0);
        addresses.rotate_left(first);
        addresses
    }
}

impl Dns {
    /// The addresses of a name in the order in which to try them; none if it does not resolve.
    pub(crate) async fn resolve(&self, name: &str) -> Vec<IpAddr> {
        let known = self.answers.borrow().get(name).cloned();
        if let Some(answer) = known.as_ref().filter(|answer| Instant::now() < answer.valid_until) {
            return answer.in_turn();
        }
        match self.ask(name).await {
            Some(answer) => {
                let answer = Rc::new(answer);
                self.answers.borrow_mut().insert(name.to_owned(), Rc::clone(&answer));
                answer.in_turn()
            }
            None => known
                .filter(|answer| Instant::now() < answer.valid_until + STALE)
                .map_or_else(Vec::new, |answer| answer.in_turn()),
        }
    }

    async fn ask(&self, name: &str) -> Option<Answer> {
        let resolver = self.resolver.get_or_init(|| {
            let built = TokioResolver::builder_tokio().and_then(ResolverBuilder::build);
            built.inspect_err(|error| tracing::error!(%error, "names of endpoints cannot be resolved")).ok()
        });
        let lookup = resolver.as_ref()?.lookup_ip(format!("{name}.")).await;
        let lookup =
            lookup.inspect_err(|error| tracing::debug!(name, %error, "a name does not resolve")).ok()?;
        let addresses: Vec<IpAddr> = lookup.iter().collect();
        let valid_until = lookup.valid_until().max(Instant::now() + AT_LEAST);
        (!addresses.is_empty()).then_some(Answer { addresses, valid_until, turn: Cell::new(0) })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};

    use hickory_resolver::config::{NameServerConfig, ResolverConfig};
    use hickory_resolver::net::runtime::TokioRuntimeProvider;

    use super::*;

    /// The answer's code where a name does not exist (RFC 1035 §4.1.1).
    const NAME_ERROR: u8 = 3;

    /// A server that says of every name: its address is 127.0.0.N, N being what was asked of it so far, for as many
    /// seconds; and nothing at all once it is told to.
    struct Server {
        resolver: TokioResolver,
        code: Arc<AtomicU8>,
    }

    impl Server {
        fn start(seconds: u8) -> Server {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let mut server = NameServerConfig::udp(Ipv4Addr::LOCALHOST.into());
            server.connections[0].port = socket.local_addr().unwrap().port();
            let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
            let resolver = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
            let code = Arc::new(AtomicU8::new(0));
            let told = Arc::clone(&code);
            std::thread::spawn(move || {
                let (mut query, mut asked) = ([0; 512], 0);
                while let Ok((len, client)) = socket.recv_from(&mut query) {
                    let code = told.load(Ordering::SeqCst);
                    let answer = answer(&query[..len], code, seconds, &mut asked);
                    socket.send_to(&answer, client).unwrap();
                }
            });
            Server { resolver: resolver.build().unwrap(), code }
        }
    }

    /// RFC 1035 §4.1: the query's header and question, and an A record if one was asked for.
    fn answer(query: &[u8], code: u8, seconds: u8, asked: &mut u8) -> Vec<u8> {
        let question_end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
        let address = code == 0 && query[question_end - 4..question_end] == [0, 1, 0, 1];
        let mut answer = query[..2].to_vec();
        answer.extend([0x81, 0x80 | code, 0, 1, 0, u8::from(address), 0, 0, 0, 0]);
        answer.extend(&query[12..question_end]);
        if address {
            *asked += 1;
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, seconds, 0, 4, 127, 0, 0, *asked]);
        }
        answer
    }

    fn dns(server: &Server) -> Dns {
        let dns = Dns::default();
        dns.resolver.set(Some(server.resolver.clone())).ok().unwrap();
        dns
    }

    fn ends_in(addresses: &[IpAddr]) -> Vec<u8> {
        let last = |ip: &IpAddr| match ip {
            IpAddr::V4(ip) => ip.octets()[3],
            IpAddr::V6(_) => 0,
        };
        addresses.iter().map(last).collect()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_name_is_resolved_again_when_its_time_to_live_has_ended() {
        let dns = dns(&Server::start(1));
        let since = Instant::now();
        assert_eq!(ends_in(&dns.resolve("a.test").await), [1]);
        assert_eq!(ends_in(&dns.resolve("a.test").await), [1]);
        while ends_in(&dns.resolve("a.test").await) == [1] {
            assert!(since.elapsed() < Duration::from_secs(10), "the first answer is used for ever");
            tokio::time::sleep(Duration::from_millis(20)).await; // time is what is awaited
        }
        assert!(since.elapsed() >= Duration::from_secs(1));
        assert_eq!(ends_in(&dns.resolve("a.test").await), [2]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_time_to_live_of_nothing_does_not_ask_for_every_connection() {
        let dns = dns(&Server::start(0));
        for _ in 0..50 {
            assert_eq!(ends_in(&dns.resolve("a.test").await), [1]);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_answer_outlives_an_outage_of_dns() {
        let server = Server::start(1);
        let dns = dns(&server);
        assert_eq!(ends_in(&dns.resolve("a.test").await), [1]);
        server.code.store(NAME_ERROR, Ordering::SeqCst);
        let valid_until = dns.answers.borrow()["a.test"].valid_until;
        tokio::time::sleep_until(valid_until.into()).await;
        assert_eq!(ends_in(&dns.resolve("a.test").await), [1]);
        assert!(dns.resolve("b.test").await.is_empty());
    }
}
