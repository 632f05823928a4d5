//! Which of the listeners that share addresses and a port are accepted.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use portcullis_api::ObjectKey;
use portcullis_model::HostPattern;

use super::claim::{Claim, Conflict, Protocol, conflict};

/// A Gateway's place among those that share addresses, oldest first.
pub(crate) type GatewayIndex = usize;

/// A Gateway or ListenerSet, with what it claims on one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimant {
    pub(crate) owner: ObjectKey,
    pub(crate) gateway: GatewayIndex,
    pub(crate) entries: Vec<Candidate>,
}

/// One listener on the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: Arc<str>,
    pub(crate) claim: Claim,
    /// Whether something of its own refuses the listener, such as a protocol that the engine lacks. It then
    /// loses to earlier objects as ever, and knocks nobody out.
    pub(crate) refused: bool,
}

/// How a listener lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Loss {
    /// To a listener of its own Gateway or of one of its ListenerSets.
    Conflict(Conflict),
    /// To a listener of another Gateway that shares an address.
    Shared,
}

/// The listeners that lost, by their place among the claimants and in the claimant.
pub(crate) type Losses = Vec<(usize, Arc<str>, Loss)>;

/// Listeners that stand, found by what could conflict with them.
pub(crate) struct Standing<'a> {
    /// Whether two Gateways share an address.
    share: &'a dyn Fn(GatewayIndex, GatewayIndex) -> bool,
    /// A hostname that nobody claims: finds the conflicts that hold whatever the hostnames are.
    elsewhere: HostPattern,
    by_host: HashMap<HostPattern, Vec<(Protocol, GatewayIndex)>, FixedState>,
    by_protocol: HashMap<Protocol, Vec<GatewayIndex>, FixedState>,
}

impl<'a> Standing<'a> {
    pub(crate) fn new(share: &'a dyn Fn(GatewayIndex, GatewayIndex) -> bool) -> Standing<'a> {
        let elsewhere = HostPattern::parse("*.*"); // no hostname field admits it
        Standing { share, elsewhere, by_host: HashMap::default(), by_protocol: HashMap::default() }
    }

    fn add(&mut self, claim: &Claim, gateway: GatewayIndex) {
        self.by_host.entry(claim.hostname.clone()).or_default().push((claim.protocol, gateway));
        let gateways = self.by_protocol.entry(claim.protocol).or_default();
        if !gateways.contains(&gateway) {
            gateways.push(gateway);
        }
    }

    /// What keeps a claim from standing beside these, its own Gateway's listeners first.
    fn loss(&self, claim: &Claim, gateway: GatewayIndex) -> Option<Loss> {
        let (mut own, mut shared) = (None, None);
        let mut meet = |other: Claim, holder: GatewayIndex| {
            if let Some(found) = conflict(claim, &other) {
                if holder == gateway {
                    own = own.max(Some(found));
                } else if (self.share)(gateway, holder) {
                    shared = Some(Loss::Shared);
                }
            }
        };
        for (protocol, holder) in self.by_host.get(&claim.hostname).into_iter().flatten() {
            meet(Claim { protocol: *protocol, ..claim.clone() }, *holder);
        }
        for (protocol, holders) in &self.by_protocol {
            let elsewhere = Claim { port: claim.port, protocol: *protocol, hostname: self.elsewhere.clone() };
            for holder in holders {
                meet(elsewhere.clone(), *holder);
            }
        }
        own.map(Loss::Conflict).or(shared)
    }

    /// Judges objects in merged order: an earlier object's listener stays, and inside an object all that
    /// clash lose. Those that lose neither way and are not refused stand from then on.
    ///
    /// Source: GEP-1713 (precedence between objects), `Gateway.spec.listeners` "Handling indistinct
    /// Listeners" (no winner inside an object).
    pub(crate) fn judge(&mut self, claimants: &[Claimant]) -> Losses {
        let mut losses = Losses::new();
        for (place, claimant) in claimants.iter().enumerate() {
            let mut left: Vec<&Candidate> = Vec::new();
            for entry in &claimant.entries {
                match self.loss(&entry.claim, claimant.gateway) {
                    Some(loss) => losses.push((place, Arc::clone(&entry.name), loss)),
                    None if entry.refused => {}
                    None => left.push(entry),
                }
            }
            for (index, entry) in left.iter().enumerate() {
                let others = left.iter().enumerate().filter(|(other, _)| *other != index);
                match others.filter_map(|(_, other)| conflict(&entry.claim, &other.claim)).max() {
                    Some(found) => losses.push((place, Arc::clone(&entry.name), Loss::Conflict(found))),
                    None => self.add(&entry.claim, claimant.gateway),
                }
            }
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use portcullis_api::Kind;
    use proptest::prelude::*;

    use super::*;

    /// The same judgement by comparing all pairs with the plain rule.
    fn oracle(claimants: &[Claimant], share: &dyn Fn(GatewayIndex, GatewayIndex) -> bool) -> Losses {
        let mut standing: Vec<(Claim, GatewayIndex)> = Vec::new();
        let mut losses = Losses::new();
        for (place, claimant) in claimants.iter().enumerate() {
            let mut left = Vec::new();
            for entry in &claimant.entries {
                let meets =
                    |holder: &(Claim, GatewayIndex)| conflict(&entry.claim, &holder.0).map(|c| (c, holder.1));
                let met: Vec<_> = standing.iter().filter_map(meets).collect();
                let own = met
                    .iter()
                    .filter(|(_, gateway)| *gateway == claimant.gateway)
                    .map(|(found, _)| *found)
                    .max();
                let shared = met
                    .iter()
                    .any(|(_, gateway)| *gateway != claimant.gateway && share(claimant.gateway, *gateway));
                match own.map(Loss::Conflict).or(shared.then_some(Loss::Shared)) {
                    Some(loss) => losses.push((place, Arc::clone(&entry.name), loss)),
                    None if !entry.refused => left.push(entry),
                    None => {}
                }
            }
            for entry in &left {
                let others = left.iter().filter(|other| other.name != entry.name);
                match others.filter_map(|other| conflict(&entry.claim, &other.claim)).max() {
                    Some(found) => losses.push((place, Arc::clone(&entry.name), Loss::Conflict(found))),
                    None => standing.push((entry.claim.clone(), claimant.gateway)),
                }
            }
        }
        losses
    }

    /// The Gateway of a claimant, and its entries: protocol, hostname and whether something refuses them.
    type Drawn = (GatewayIndex, Vec<(Protocol, &'static str, bool)>);

    fn claimants() -> impl Strategy<Value = Vec<Claimant>> {
        use Protocol::{Http, Http3, Https, Tcp, Tls, Udp};
        let protocol = prop::sample::select(vec![Http, Https, Tls, Tcp, Udp, Http3]);
        let hostname = prop::sample::select(vec!["", "a.test", "*.test"]);
        let candidate = (protocol, hostname, prop::bool::weighted(0.2));
        let claimant = (0_usize..3, prop::collection::vec(candidate, 1..4));
        prop::collection::vec(claimant, 0..6).prop_map(|list| {
            let claimant = |(place, (gateway, entries)): (usize, Drawn)| Claimant {
                owner: ObjectKey::new(Kind::ListenerSet, "default", format!("s{place}")),
                gateway,
                entries: entries
                    .into_iter()
                    .enumerate()
                    .map(|(index, (protocol, hostname, refused))| {
                        let pattern = HostPattern::parse(hostname);
                        let hostname = if protocol.has_hostname() { pattern } else { HostPattern::Any };
                        let name = format!("l{index}").into();
                        Candidate { name, claim: Claim { port: 443, protocol, hostname }, refused }
                    })
                    .collect(),
            };
            list.into_iter().enumerate().map(claimant).collect()
        })
    }

    proptest! {
        /// The index finds what comparing all pairs finds. Gateways 0 and 1 share an address, 2 stands alone.
        #[test]
        fn as_comparing_all_pairs(claimants in claimants()) {
            let share = |one: usize, other: usize| one == other || (one < 2 && other < 2);
            prop_assert_eq!(Standing::new(&share).judge(&claimants), oracle(&claimants, &share));
        }
    }
}
