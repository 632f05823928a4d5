//! The rules of one listener.

use std::sync::Arc;

use portcullis_model::{HostPattern, Listener, Route, Rule};

use crate::calls::CallTable;
use crate::candidate::{Candidate, Entry};
use crate::paths::PathTable;
use crate::table::{Hosted, Table};
use crate::{HeaderSource, Request, Scheme};

/// Makes of a rule, as a listener has it, what an engine needs to serve it. It may depend on the listener's
/// identity, port, protocol and client certificate, and on route and rule: while these stay, its result is kept.
pub(crate) type Compile<'c, T> = &'c dyn Fn(&Listener, &Arc<Route>, &Arc<Rule>) -> T;

/// The rules of one listener, by hostname and path. `T` is what the engine compiles a rule to.
pub struct ListenerTable<T> {
    listener: Arc<Listener>,
    hosts: Hosted<PathTable<T>>,
    calls: Hosted<CallTable<T>>,
}

/// The rule that takes a request.
#[derive(Debug)]
pub struct Matched<'t, T> {
    hostname: &'t HostPattern,
    pub(crate) candidate: &'t Candidate<T>,
}

impl<T> Clone for Matched<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matched<'_, T> {}

impl<'t, T> Matched<'t, T> {
    /// The rule with its route, shared: clone it to keep it longer than the table.
    #[must_use]
    pub fn entry(&self) -> &'t Arc<Entry<T>> {
        &self.candidate.entry
    }

    /// Which of the rule's matches took the request, from 0.
    #[must_use]
    pub fn match_index(&self) -> usize {
        self.candidate.match_index as usize
    }

    /// The route's own hostname that took the request.
    #[must_use]
    pub fn hostname(&self) -> &'t HostPattern {
        self.hostname
    }

    /// How many bytes of the request's path a prefix match took, for rewrites; 0 is the root. None for exact
    /// paths and regular expressions.
    #[must_use]
    pub fn prefix_len(&self) -> Option<usize> {
        self.candidate.shape.prefix_len()
    }
}

impl<T> ListenerTable<T> {
    pub(crate) fn build(listener: &Arc<Listener>, compile: Compile<'_, T>) -> ListenerTable<T> {
        let (hosts, calls) = (Hosted::default(), Hosted::default());
        let mut table = ListenerTable { listener: Arc::clone(listener), hosts, calls };
        for route in &listener.routes {
            table.hosts.insert(route, &entries(listener, route, compile));
        }
        for route in &listener.grpc_routes {
            table.calls.insert(route, &entries(listener, route, compile));
        }
        table
    }

    /// The table of the same listener's next version; what is the same is shared.
    pub(crate) fn update(&self, listener: &Arc<Listener>, compile: Compile<'_, T>) -> ListenerTable<T> {
        let old = &self.listener;
        let scheme = |listener: &Listener| Scheme::of(&listener.protocol);
        let certificate = |listener: &Listener| listener.client_certificate.as_ref().map(Arc::as_ptr);
        let same_settings = old.port == listener.port && certificate(old) == certificate(listener);
        if !same_settings || scheme(old) != scheme(listener) {
            return ListenerTable::build(listener, compile);
        }
        let mut hosts = self.hosts.clone();
        let (gone, new) = difference(&old.routes, &listener.routes);
        gone.into_iter().for_each(|route| hosts.remove(route));
        new.into_iter().for_each(|route| hosts.insert(route, &entries(listener, route, compile)));
        let mut calls = self.calls.clone();
        let (gone, new) = difference(&old.grpc_routes, &listener.grpc_routes);
        gone.into_iter().for_each(|route| calls.remove(route));
        new.into_iter().for_each(|route| calls.insert(route, &entries(listener, route, compile)));
        ListenerTable { listener: Arc::clone(listener), hosts, calls }
    }

    /// The listener.
    #[must_use]
    pub fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// The rule that takes a request: the first by precedence under the most specific hostname of which some
    /// rule takes it. A gRPC call looks for one among the GRPCRoutes first, then among the HTTPRoutes.
    #[must_use]
    pub fn lookup<'t, H: HeaderSource + ?Sized>(
        &'t self,
        request: &Request<'_, H>,
    ) -> Option<Matched<'t, T>> {
        self.calls_for(request)
            .and_then(|calls| first(calls, request))
            .or_else(|| first(&self.hosts, request))
    }

    /// The HTTPRoutes.
    pub(crate) fn hosts(&self) -> &Hosted<PathTable<T>> {
        &self.hosts
    }

    /// The GRPCRoutes.
    pub(crate) fn calls(&self) -> &Hosted<CallTable<T>> {
        &self.calls
    }

    /// The GRPCRoutes, if a request may be theirs.
    pub(crate) fn calls_for<H: HeaderSource + ?Sized>(
        &self,
        request: &Request<'_, H>,
    ) -> Option<&Hosted<CallTable<T>>> {
        (!self.listener.grpc_routes.is_empty() && request.is_call()).then_some(&self.calls)
    }
}

/// The rules of a route, as a listener has them.
fn entries<T>(listener: &Listener, route: &Arc<Route>, compile: Compile<'_, T>) -> Vec<Arc<Entry<T>>> {
    let compiled = |rule: &Arc<Rule>| {
        let compiled = compile(listener, route, rule);
        Arc::new(Entry { route: Arc::clone(route), rule: Arc::clone(rule), compiled })
    };
    route.rules.iter().map(compiled).collect()
}

/// The first match that takes a request, under the most specific hostname.
fn first<'t, P: Table, H: HeaderSource + ?Sized>(
    tables: &'t Hosted<P>,
    request: &Request<'_, H>,
) -> Option<Matched<'t, P::Compiled>> {
    tables.matching(request.host).find_map(|table| {
        table.find(request).map(|candidate| Matched { hostname: table.hostname(), candidate })
    })
}

type Routes<'r> = Vec<&'r Arc<Route>>;

/// What only the old and only the new list has, by identity. Costs a comparison a route where most are at
/// their old place.
fn difference<'r>(old: &'r [Arc<Route>], new: &'r [Arc<Route>]) -> (Routes<'r>, Routes<'r>) {
    let same = |pair: &(&Arc<Route>, &Arc<Route>)| Arc::ptr_eq(pair.0, pair.1);
    let head = old.iter().zip(new).take_while(same).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let (old, new) = (old.get(..old.len() - tail), new.get(..new.len() - tail));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let only = |list: &'r [Arc<Route>], other: &'r [Arc<Route>]| {
        let others: hashbrown::HashSet<_, foldhash::fast::RandomState> =
            other.iter().map(Arc::as_ptr).collect();
        list.iter().filter(|route| !others.contains(&Arc::as_ptr(route))).collect()
    };
    (only(old, new), only(new, old))
}

#[cfg(test)]
mod tests {
    use portcullis_model::{Age, ListenerFilters, ListenerId, ListenerProtocol, Origin};

    use super::*;

    fn origin(kind: &str) -> Origin {
        Origin { kind: kind.into(), namespace: "n".into(), name: "x".into() }
    }

    fn listener(port: u16, routes: Vec<Arc<Route>>) -> Arc<Listener> {
        let id = ListenerId { gateway: origin("Gateway"), owner: origin("Gateway"), name: "web".into() };
        let (hostname, protocol) = (HostPattern::Any, ListenerProtocol::Http);
        Arc::new(Listener {
            id,
            port,
            hostname,
            protocol,
            filters: ListenerFilters::default(),
            client_certificate: None,
            routes,
            grpc_routes: vec![],
        })
    }

    /// Memory follows what is there: a hostname whose last route goes leaves nothing.
    #[test]
    fn a_hostname_goes_with_its_last_route() {
        let hostnames = ["a.com", "a.com", "*.b.com"].map(HostPattern::parse).to_vec();
        let route = Route { origin: origin("HTTPRoute"), age: Age::UNKNOWN, hostnames, rules: vec![] };
        let table = ListenerTable::build(&listener(80, vec![Arc::new(route)]), &|_, _, _| ());
        assert_eq!(table.hosts().all().count(), 2);
        assert_eq!(table.update(&listener(80, vec![]), &|_, _, _| ()).hosts().all().count(), 0);
    }
}
