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
