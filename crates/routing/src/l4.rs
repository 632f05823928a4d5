//! The routes of a listener below HTTP.

use std::sync::Arc;

use portcullis_model::L4Route;

use crate::hosts::HostMap;

/// The routes of a listener that takes connections or datagrams, by server name. `T` is what the engine compiles a
/// route to.
///
/// Where there are no server names, every route is for any host, and the oldest serves.
pub struct L4Table<T> {
    routes: Vec<Arc<L4Entry<T>>>,
    hosts: HostMap<Arc<L4Entry<T>>>,
}

/// A route with what the engine has compiled it to.
pub struct L4Entry<T> {
    /// The route.
    pub route: Arc<L4Route>,
    /// What it was compiled to.
    pub compiled: T,
}

impl<T> L4Table<T> {
    /// The table of a listener's routes. What did not change (the same allocations) is shared with the table before,
    /// and not compiled again.
    #[must_use]
    pub fn build(
        routes: &[Arc<L4Route>],
        before: Option<&L4Table<T>>,
        compile: impl Fn(&Arc<L4Route>) -> T,
    ) -> L4Table<T> {
        let known: hashbrown::HashMap<*const L4Route, &Arc<L4Entry<T>>, foldhash::fast::RandomState> = before
            .iter()
            .flat_map(|table| &table.routes)
            .map(|known| (Arc::as_ptr(&known.route), known))
            .collect();
        let entry = |route: &Arc<L4Route>| match known.get(&Arc::as_ptr(route)) {
            Some(known) => Arc::clone(known),
            None => Arc::new(L4Entry { route: Arc::clone(route), compiled: compile(route) }),
        };
        let mut entries: Vec<Arc<L4Entry<T>>> = routes.iter().map(entry).collect();
        entries.sort_by(|one, other| one.route.seniority(&other.route));
        let mut hosts = HostMap::default();
        for entry in &entries {
            for hostname in &entry.route.hostnames {
                hosts.get_or_insert_with(hostname, || Arc::clone(entry)); // the oldest is first, and stays
            }
        }
        L4Table { routes: entries, hosts }
    }

    /// The route that takes a connection, by its server name in canonical form: the one with the most specific
    /// hostname, of several the oldest. A connection without a server name is taken by routes for any host alone.
    #[must_use]
    pub fn lookup(&self, server_name: Option<&str>) -> Option<&Arc<L4Entry<T>>> {
        self.hosts.matching(server_name.unwrap_or_default()).next()
    }

    /// The routes, the oldest first.
    pub fn routes(&self) -> impl Iterator<Item = &Arc<L4Route>> {
        self.routes.iter().map(|entry| &entry.route)
    }
}

#[cfg(test)]
mod tests {
    use portcullis_model::{Age, HostPattern, Origin};

    use super::*;

    fn route(name: &str, age: i64, hostnames: &[&str]) -> Arc<L4Route> {
        Arc::new(L4Route {
            origin: Origin { kind: "TLSRoute".into(), namespace: "n".into(), name: name.into() },
            age: Age::created_at(age),
            hostnames: hostnames.iter().map(|name| HostPattern::parse(name)).collect(),
            backends: Vec::new(),
        })
    }

    fn taker(routes: &[Arc<L4Route>], server_name: Option<&str>) -> Option<String> {
        let table = L4Table::build(routes, None, |_| ());
        table.lookup(server_name).map(|entry| entry.route.origin.name.to_string())
    }

    /// The route's own hostname decides, then age, then the name.
    #[test]
    fn the_most_specific_hostname_takes_a_connection_and_of_equals_the_oldest() {
        let routes = [
            route("young", 2, &["a.test"]),
            route("old", 1, &["a.test", "*.wide.test"]),
            route("z", 1, &["*.deep.wide.test", "any.test"]),
            route("b", 1, &["any.test"]),
        ];
        for (name, expected) in [
            ("a.test", Some("old")),
            ("x.wide.test", Some("old")),
            ("x.deep.wide.test", Some("z")),
            ("any.test", Some("b")),
            ("wide.test", None),
        ] {
            assert_eq!(taker(&routes, Some(name)).as_deref(), expected, "{name}");
        }
        assert_eq!(taker(&routes, None), None);
    }

    /// Without server names the oldest serves alone.
    #[test]
    fn the_oldest_takes_what_names_no_server() {
        let routes = [route("young", 2, &[""]), route("old", 1, &[""])];
        assert_eq!(taker(&routes, None).as_deref(), Some("old"));
    }

    #[test]
    fn a_route_that_stays_is_not_compiled_again() {
        let (one, other) = (route("one", 1, &[""]), route("other", 2, &[""]));
        let before = L4Table::build(&[Arc::clone(&one)], None, |_| 1);
        let after = L4Table::build(&[one, other], Some(&before), |_| 2);
        assert_eq!(after.lookup(None).map(|entry| entry.compiled), Some(1));
    }
}
