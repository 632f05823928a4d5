//! Gateways that share addresses: their listeners are judged, and served, together.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use portcullis_api::{Kind, ObjectKey};

use super::{Addresses, OurGateway, is_eligible};
use crate::age::Seniority;
use crate::memo::Query;
use crate::view::View;

/// Gateways that share addresses, directly or through others, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) gateway: ObjectKey,
    pub(crate) addresses: Vec<IpAddr>,
}

impl Member {
    /// Whether sockets of the Gateway take what comes to an address: its own, or the unspecified one of its
    /// family.
    pub(crate) fn covers(&self, address: IpAddr) -> bool {
        self.addresses
            .iter()
            .any(|own| *own == address || own.is_unspecified() && own.is_ipv4() == address.is_ipv4())
    }
}

impl Group {
    /// What names the group in queries: its oldest Gateway.
    pub(crate) fn leader(&self) -> Option<&ObjectKey> {
        self.members.first().map(|member| &member.gateway)
    }

    /// Whether two members take what comes to one address.
    pub(crate) fn share(&self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.members.get(one), self.members.get(other)) else { return false };
        one.addresses.iter().any(|address| other.covers(*address))
            || other.addresses.iter().any(|address| one.covers(*address))
    }
}

/// The group of a Gateway; a Gateway that is not served is alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupOf {
    pub(crate) gateway: ObjectKey,
}

impl Query for GroupOf {
    type Value = Arc<Group>;

    fn compute(&self, view: &View<'_>) -> Arc<Group> {
        let groups = view.get(&Groups);
        groups.get(&self.gateway).cloned().unwrap_or_else(|| {
            let addresses = view.get(&Addresses { gateway: self.gateway.clone() }).bind.clone();
            Arc::new(Group { members: vec![Member { gateway: self.gateway.clone(), addresses }] })
        })
    }
}

/// Every group, by each of its members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Groups;

impl Query for Groups {
    type Value = BTreeMap<ObjectKey, Arc<Group>>;

    fn compute(&self, view: &View<'_>) -> BTreeMap<ObjectKey, Arc<Group>> {
        let mut gateways: Vec<(Seniority, Member)> = Vec::new();
        for gateway in view.all(Kind::Gateway) {
            let standing = view.get(&OurGateway { key: gateway.clone() });
            if let Some(standing) = standing.as_ref()
                && is_eligible(view, &gateway)
            {
                let addresses = view.get(&Addresses { gateway: gateway.clone() }).bind.clone();
                gateways.push((standing.seniority.clone(), Member { gateway, addresses }));
            }
        }
        gateways.sort_by(|(one, _), (other, _)| one.cmp(other));
        let members: Vec<Member> = gateways.into_iter().map(|(_, member)| member).collect();
        let mut groups = BTreeMap::new();
        for members in components(members) {
            let group = Arc::new(Group { members });
            for member in &group.members {
                groups.insert(member.gateway.clone(), Arc::clone(&group));
            }
        }
        groups
    }
}

/// Splits Gateways into those connected by common addresses; each part keeps the order.
fn components(members: Vec<Member>) -> Vec<Vec<Member>> {
    let mut sets = DisjointSets((0..members.len()).collect());
    let mut holder: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        for address in &member.addresses {
            sets.join(*holder.entry(*address).or_insert(index), index);
        }
    }
    for (address, wide) in holder.iter().filter(|(address, _)| address.is_unspecified()) {
        for (_, index) in holder.iter().filter(|(other, _)| other.is_ipv4() == address.is_ipv4()) {
            sets.join(*wide, *index);
        }
    }
    let mut parts: BTreeMap<usize, Vec<Member>> = BTreeMap::new();
    for (index, member) in members.into_iter().enumerate() {
        parts.entry(sets.root(index)).or_default().push(member);
    }
    parts.into_values().collect()
}

/// Each element's parent; roots are their own.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn root(&mut self, mut element: usize) -> usize {
        while let Some(parent) = self.0.get(element).copied()
            && parent != element
        {
            let grandparent = self.0.get(parent).copied().unwrap_or(parent);
            if let Some(slot) = self.0.get_mut(element) {
                *slot = grandparent;
            }
            element = grandparent;
        }
        element
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if let Some(slot) = self.0.get_mut(one.max(other)) {
            *slot = one.min(other);
        }
    }
}
