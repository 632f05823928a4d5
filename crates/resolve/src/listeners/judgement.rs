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
    by_host: HashMap<HostPattern, Vec<(Protocol, GatewayIndex)>, FixedState>,
    by_protocol: HashMap<Protocol, Vec<GatewayIndex>, FixedState>,
}

impl<'a> Standing<'a> {
    pub(crate) fn new(share: &'a dyn Fn(GatewayIndex, GatewayIndex) -> bool) -> Standing<'a> {
        Standing { share, by_host: HashMap::default(), by_protocol: HashMap::default() }
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
            // A hostname that nobody claims: finds those conflicts that hold whatever the hostnames are.
            let elsewhere = Claim { port: claim.port, protocol: *protocol, hostname: unclaimable() };
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

fn unclaimable() -> HostPattern {
    // A wildcard over a name that no hostname field admits.
    HostPattern::parse("*.*")
}
