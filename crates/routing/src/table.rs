//! What tables of matches have in common, whatever the matches ask for.

use std::sync::Arc;

use portcullis_model::{HostPattern, Route};

use crate::candidate::{Candidate, Entry};
use crate::hosts::HostMap;
use crate::{HeaderSource, Request};

/// The matches of all routes that have one hostname. A match of another kind of route is in none.
pub(crate) trait Table: Clone {
    /// What the engine compiles a rule to.
    type Compiled;

    fn new(hostname: HostPattern) -> Self;

    fn hostname(&self) -> &HostPattern;

    fn is_empty(&self) -> bool;

    /// The first match that takes a request.
    fn find<'t, H: HeaderSource + ?Sized>(
        &'t self,
        request: &Request<'_, H>,
    ) -> Option<&'t Candidate<Self::Compiled>>;

    /// Adds the matches of a rule.
    fn insert(&mut self, entry: &Arc<Entry<Self::Compiled>>);

    /// Removes the matches of a route's rules.
    fn remove(&mut self, route: &Arc<Route>);

    /// All matches, in no particular order.
    fn candidates<'t>(&'t self) -> impl Iterator<Item = &'t Candidate<Self::Compiled>>
    where
        Self::Compiled: 't;
}

/// Tables by hostname.
pub(crate) struct Hosted<P>(HostMap<Arc<P>>);

impl<P> Default for Hosted<P> {
    fn default() -> Self {
        Hosted(HostMap::default())
    }
}

impl<P> Clone for Hosted<P> {
    fn clone(&self) -> Self {
        Hosted(self.0.clone())
    }
}

impl<P: Table> Hosted<P> {
    /// The tables of all hostnames, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<P>> {
        self.0.values()
    }

    /// The tables of the hostnames that take a host, the most specific first.
    pub(crate) fn matching<'t, 'h>(
        &'t self,
        host: &'h str,
    ) -> impl Iterator<Item = &'t Arc<P>> + use<'t, 'h, P> {
        self.0.matching(host)
    }

    /// Adds rules of a route, under each of its hostnames.
    pub(crate) fn insert(&mut self, route: &Arc<Route>, entries: &[Arc<Entry<P::Compiled>>]) {
        for pattern in &route.hostnames {
            let made = || Arc::new(P::new(pattern.clone()));
            let Some(table) = self.0.get_or_insert_with(pattern, made) else { continue };
            let table = Arc::make_mut(table);
            entries.iter().for_each(|entry| table.insert(entry));
        }
    }

    pub(crate) fn remove(&mut self, route: &Arc<Route>) {
        for pattern in &route.hostnames {
            let Some(table) = self.0.get_mut(pattern) else { continue };
            let table = Arc::make_mut(table);
            table.remove(route);
            if table.is_empty() {
                self.0.remove(pattern);
            }
        }
    }
}
