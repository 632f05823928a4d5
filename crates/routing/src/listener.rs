//! The rules of one listener.

use std::sync::Arc;

use portcullis_model::{HostPattern, Listener, Route, Rule};

use crate::candidate::{Candidate, Entry};
use crate::hosts::HostMap;
use crate::paths::PathTable;
use crate::{HeaderSource, Request, Scheme};

/// Makes of a rule, as a listener has it, what an engine needs to serve it. It may depend on the listener's
/// identity, port, protocol and client certificate, and on route and rule: while these stay, its result is kept.
pub(crate) type Compile<'c, T> = &'c dyn Fn(&Listener, &Arc<Route>, &Arc<Rule>) -> T;

/// The rules of one listener, by hostname and path. `T` is what the engine compiles a rule to.
pub struct ListenerTable<T> {
    listener: Arc<Listener>,
    hosts: HostMap<Arc<PathTable<T>>>,
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
        let mut table = ListenerTable { listener: Arc::clone(listener), hosts: HostMap::default() };
        for route in &listener.routes {
            table.insert(route, compile);
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
        let mut table = ListenerTable { listener: Arc::clone(listener), hosts: self.hosts.clone() };
        let (gone, new) = difference(&old.routes, &listener.routes);
        for route in gone {
            table.remove(route);
        }
        for route in new {
            table.insert(route, compile);
        }
        table
    }

    /// The listener.
    #[must_use]
    pub fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// The rule that takes a request: the first by precedence under the most specific hostname of which some
    /// rule takes it.
    #[must_use]
    pub fn lookup<'t, H: HeaderSource + ?Sized>(
        &'t self,
        request: &Request<'_, H>,
    ) -> Option<Matched<'t, T>> {
        self.hosts_matching(request.host).find_map(|paths| {
            paths.find(request).map(|candidate| Matched { hostname: &paths.hostname, candidate })
        })
    }

    /// The tables of all hostnames, in no particular order.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Arc<PathTable<T>>> {
        self.hosts.values()
    }

    /// The tables of the hostnames that take a host, the most specific first.
    pub(crate) fn hosts_matching<'t, 'h>(
        &'t self,
        host: &'h str,
    ) -> impl Iterator<Item = &'t Arc<PathTable<T>>> + use<'t, 'h, T> {
        self.hosts.matching(host)
    }

    fn insert(&mut self, route: &Arc<Route>, compile: Compile<'_, T>) {
        let compiled = |rule: &Arc<Rule>| {
            let compiled = compile(&self.listener, route, rule);
            Arc::new(Entry { route: Arc::clone(route), rule: Arc::clone(rule), compiled })
        };
        let entries: Vec<_> = route.rules.iter().map(compiled).collect();
        for pattern in &route.hostnames {
            let made = || Arc::new(PathTable::new(pattern.clone()));
            let Some(paths) = self.hosts.get_or_insert_with(pattern, made) else { continue };
            let paths = Arc::make_mut(paths);
            entries.iter().for_each(|entry| paths.insert(entry));
        }
    }

    fn remove(&mut self, route: &Arc<Route>) {
        for pattern in &route.hostnames {
            let Some(paths) = self.hosts.get_mut(pattern) else { continue };
            let paths = Arc::make_mut(paths);
            paths.remove(route);
            if paths.is_empty() {
                self.hosts.remove(pattern);
            }
        }
    }
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
    use portcullis_model::{Age, ListenerId, ListenerProtocol, Origin};

    use super::*;

    fn origin(kind: &str) -> Origin {
        Origin { kind: kind.into(), namespace: "n".into(), name: "x".into() }
    }

    fn listener(port: u16, routes: Vec<Arc<Route>>) -> Arc<Listener> {
        let id = ListenerId { gateway: origin("Gateway"), owner: origin("Gateway"), name: "web".into() };
        let (hostname, protocol) = (HostPattern::Any, ListenerProtocol::Http);
        Arc::new(Listener { id, port, hostname, protocol, client_certificate: None, routes })
    }

    /// Memory follows what is there: a hostname whose last route goes leaves nothing.
    #[test]
    fn a_hostname_goes_with_its_last_route() {
        let hostnames = ["a.com", "a.com", "*.b.com"].map(HostPattern::parse).to_vec();
        let route = Route { origin: origin("HTTPRoute"), age: Age::UNKNOWN, hostnames, rules: vec![] };
        let table = ListenerTable::build(&listener(80, vec![Arc::new(route)]), &|_, _, _| ());
        assert_eq!(table.hosts().count(), 2);
        assert_eq!(table.update(&listener(80, vec![]), &|_, _, _| ()).hosts().count(), 0);
    }
}
