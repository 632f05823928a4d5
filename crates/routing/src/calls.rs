//! The matches of one hostname's GRPCRoutes, by service and method.

use std::sync::Arc;

use portcullis_model::{CallMatch, HostPattern, PathMatch, Route, Rule, ValueMatch};

use crate::candidate::{Candidate, Entry};
use crate::keyed::KeyedMap;
use crate::leaf::{Leaf, insert_leaf, remove_from_leaf};
use crate::paths::PathKey;
use crate::precedence::Shape;
use crate::table::Table;
use crate::{HeaderSource, Request};

/// The matches of all GRPCRoutes that have one hostname.
pub(crate) struct CallTable<T> {
    hostname: HostPattern,
    /// By `/service/method`.
    calls: KeyedMap<Leaf<T>>,
    /// Of any method.
    services: KeyedMap<Leaf<T>>,
    /// Of any service.
    methods: KeyedMap<Leaf<T>>,
    /// Regular expressions, and what takes every call, in the order of precedence.
    others: Vec<Candidate<T>>,
}

impl<T> Clone for CallTable<T> {
    fn clone(&self) -> Self {
        CallTable {
            hostname: self.hostname.clone(),
            calls: self.calls.clone(),
            services: self.services.clone(),
            methods: self.methods.clone(),
            others: self.others.clone(),
        }
    }
}

/// Where a match is found.
enum Place<'m> {
    Call(String),
    Service(&'m str),
    Method(&'m str),
    Other,
}

impl Place<'_> {
    fn of(call: &CallMatch) -> Place<'_> {
        match (&call.service, &call.method) {
            (Some(ValueMatch::Exact(service)), Some(ValueMatch::Exact(method))) => {
                Place::Call(format!("/{service}/{method}"))
            }
            (Some(ValueMatch::Exact(service)), None) => Place::Service(service),
            (None, Some(ValueMatch::Exact(method))) => Place::Method(method),
            _ => Place::Other,
        }
    }
}

impl<T> CallTable<T> {
    /// The first match among those that ask for exact names, by three probes.
    fn find_exact<'t, H: HeaderSource + ?Sized>(
        &'t self,
        request: &Request<'_, H>,
    ) -> Option<&'t Candidate<T>> {
        let (service, method) = CallMatch::split(request.path)?;
        let leaves = [self.calls.get(request.path), self.services.get(service), self.methods.get(method)];
        let found = leaves.into_iter().flatten().filter_map(|leaf| leaf.find(request));
        found.min_by(|one, two| one.rank().cmp(&two.rank()))
    }
}

impl<T> Table for CallTable<T> {
    type Compiled = T;

    fn new(hostname: HostPattern) -> CallTable<T> {
        CallTable {
            hostname,
            calls: KeyedMap::default(),
            services: KeyedMap::default(),
            methods: KeyedMap::default(),
            others: Vec::new(),
        }
    }

    fn hostname(&self) -> &HostPattern {
        &self.hostname
    }

    fn is_empty(&self) -> bool {
        let exact = self.calls.is_empty() && self.services.is_empty() && self.methods.is_empty();
        exact && self.others.is_empty()
    }

    fn find<'t, H: HeaderSource + ?Sized>(&'t self, request: &Request<'_, H>) -> Option<&'t Candidate<T>> {
        let exact = self.find_exact(request);
        let before = |other: &&Candidate<T>| exact.is_none_or(|exact| other.rank() < exact.rank());
        let mut others = self.others.iter().take_while(before);
        others.find(|other| other.names_call(request.path) && other.takes(request)).or(exact)
    }

    fn insert(&mut self, entry: &Arc<Entry<T>>) {
        for (index, matched) in entry.rule.matches.iter().enumerate() {
            let PathMatch::Call(call) = &matched.path else { continue };
            let candidate = Candidate {
                entry: Arc::clone(entry),
                shape: Shape::of(matched, &PathKey::Call(call)),
                match_index: u32::try_from(index).unwrap_or(u32::MAX),
            };
            match Place::of(call) {
                Place::Call(path) => insert_leaf(&mut self.calls, &path, candidate),
                Place::Service(service) => insert_leaf(&mut self.services, service, candidate),
                Place::Method(method) => insert_leaf(&mut self.methods, method, candidate),
                Place::Other => {
                    let at = self.others.partition_point(|other| other.rank() < candidate.rank());
                    self.others.insert(at, candidate);
                }
            }
        }
    }

    fn remove(&mut self, route: &Arc<Route>) {
        for matched in route.rules.iter().flat_map(|rule: &Arc<Rule>| &rule.matches) {
            let PathMatch::Call(call) = &matched.path else { continue };
            match Place::of(call) {
                Place::Call(path) => drop(remove_from_leaf(&mut self.calls, &path, route)),
                Place::Service(service) => drop(remove_from_leaf(&mut self.services, service, route)),
                Place::Method(method) => drop(remove_from_leaf(&mut self.methods, method, route)),
                Place::Other => {}
            }
        }
        self.others.retain(|candidate| !Arc::ptr_eq(&candidate.entry.route, route));
    }

    fn candidates<'t>(&'t self) -> impl Iterator<Item = &'t Candidate<T>>
    where
        T: 't,
    {
        let leaves = self.calls.iter().chain(self.services.iter()).chain(self.methods.iter());
        leaves.flat_map(|leaf| &leaf.candidates).chain(&self.others)
    }
}
