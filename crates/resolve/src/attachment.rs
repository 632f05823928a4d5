//! Which routes attach to which listeners.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use portcullis_api::references::ParentRef;
use portcullis_api::status::ControllerName;
use portcullis_api::{Kind, ObjectKey};
use portcullis_model::HostPattern;

use crate::causes::{Cause, ROUTE_NO_MATCHING_HOSTNAME, ROUTE_NO_MATCHING_PARENT, ROUTE_NOT_ALLOWED};
use crate::gateways::OurGateway;
use crate::listeners::{DeclaredListeners, parent_of};
use crate::memo::{Changes, Query};
use crate::namespaces::Allowed;
use crate::origin::namespace_or;
use crate::routes::{Common, Meaning, ServedRoute};
use crate::view::View;

/// What routes see of a Gateway or ListenerSet. Nothing if it is absent, of another kind or not ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AttachPoints {
    pub(crate) parent: ObjectKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    /// Whose entry the route's status gets.
    pub(crate) controller: ControllerName,
    points: Vec<AttachPoint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AttachPoint {
    name: Arc<str>,
    port: u16,
    hostname: HostPattern,
    kinds: Vec<Kind>,
    namespaces: Allowed,
}

impl Query for AttachPoints {
    type Value = Option<Parent>;

    fn compute(&self, view: &View<'_>) -> Option<Parent> {
        let gateway = view.get(&OurGateway { key: parent_of(view, &self.parent)? });
        let controller = gateway.as_ref().as_ref()?.class.controller.clone();
        let listeners = view.get(&DeclaredListeners { owner: self.parent.clone() });
        let points = listeners.iter().map(|listener| AttachPoint {
            name: listener.name.shared(),
            port: listener.port,
            hostname: listener.hostname.clone(),
            kinds: listener.kinds.clone(),
            namespaces: listener.namespaces.clone(),
        });
        Some(Parent { controller, points: points.collect() })
    }
}

/// A route under each of its parents that is ours, in the order of `parentRefs`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Attachments {
    pub(crate) route: ObjectKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The place in `parentRefs`.
    pub(crate) index: usize,
    pub(crate) parent: ObjectKey,
    pub(crate) controller: ControllerName,
    /// The listeners that take the route, or what refused it first.
    pub(crate) listeners: Result<Vec<Arc<str>>, &'static Cause>,
}

impl Query for Attachments {
    type Value = Vec<Attachment>;

    fn compute(&self, view: &View<'_>) -> Vec<Attachment> {
        let Some(route) = Common::read(view, &self.route) else { return Vec::new() };
        let hostnames = route.hostnames();
        let mut attachments = Vec::new();
        for (index, reference) in route.parent_refs.iter().enumerate() {
            let Some(parent) = parent_key(reference, &self.route) else { continue };
            if let Some(found) = view.get(&AttachPoints { parent: parent.clone() }).as_ref() {
                let listeners = narrow(view, &found.points, reference, &self.route, &hostnames);
                attachments.push(Attachment {
                    index,
                    parent,
                    controller: found.controller.clone(),
                    listeners,
                });
            }
        }
        attachments
    }
}

/// The object that a parentRef names, if it is of a kind that has listeners.
pub(crate) fn parent_key(reference: &ParentRef, route: &ObjectKey) -> Option<ObjectKey> {
    let kind = Kind::of(reference.group.as_str(), reference.kind.as_str())?;
    let namespace = namespace_or(reference.namespace.as_ref(), &route.namespace);
    matches!(kind, Kind::Gateway | Kind::ListenerSet)
        .then(|| ObjectKey::new(kind, namespace, reference.name.shared()))
}

/// Candidates narrow step by step; what leaves none is the verdict. One listener that takes the route suffices.
///
/// Source: `RouteConditionReason` documentation, `ParentReference` field documentation.
fn narrow(
    view: &View<'_>,
    points: &[AttachPoint],
    reference: &ParentRef,
    route: &ObjectKey,
    hostnames: &[HostPattern],
) -> Result<Vec<Arc<str>>, &'static Cause> {
    let section = |point: &&AttachPoint| {
        reference.section_name.as_ref().is_none_or(|name| name.as_str() == &*point.name)
            && reference.port.is_none_or(|port| port.get() == point.port)
    };
    let named: Vec<&AttachPoint> = points.iter().filter(section).collect();
    if named.is_empty() {
        return Err(&ROUTE_NO_MATCHING_PARENT);
    }
    let welcome = |point: &&AttachPoint| {
        point.kinds.contains(&route.kind) && point.namespaces.admits(view, &route.namespace)
    };
    let allowing: Vec<&AttachPoint> = named.into_iter().filter(welcome).collect();
    if allowing.is_empty() {
        return Err(&ROUTE_NOT_ALLOWED);
    }
    let meets = |point: &&AttachPoint| hostnames.iter().any(|hostname| hostname.intersects(&point.hostname));
    let taking: Vec<Arc<str>> =
        allowing.into_iter().filter(meets).map(|point| Arc::clone(&point.name)).collect();
    if taking.is_empty() { Err(&ROUTE_NO_MATCHING_HOSTNAME) } else { Ok(taking) }
}

/// Routes by listener, each list in the order of its keys.
type ByListener = HashMap<Arc<str>, Vec<(ObjectKey, ServedRoute)>, FixedState>;

/// The accepted routes of a Gateway's or ListenerSet's own listeners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RoutesOf {
    parent: ObjectKey,
}

impl Query for RoutesOf {
    type Value = ByListener;

    const REVISES: bool = true;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        let mut by_listener = Self::Value::default();
        for kind in &view.engine().capabilities.route_kinds {
            for key in view.attached(*kind, &self.parent) {
                let taken = view.get(&TakenBy { route: key.clone() });
                let Some(taken) = taken.as_ref() else { continue };
                for (_, listener) in taken.listeners.iter().filter(|(parent, _)| *parent == self.parent) {
                    let routes = by_listener.entry(Arc::clone(listener)).or_default();
                    routes.push((key.clone(), taken.route.clone()));
                }
            }
        }
        by_listener
    }

    /// A route's change costs its own place in the lists, not theirs.
    fn revise(&self, view: &View<'_>, old: &ByListener, changed: &Changes) -> Option<ByListener> {
        let mut by_listener = old.clone();
        for query in changed.only::<TakenBy>()? {
            let taken = view.get(query);
            let taken = taken.as_ref().as_ref();
            for (name, routes) in &mut by_listener {
                let place = routes.binary_search_by(|(key, _)| key.cmp(&query.route));
                let here = taken.filter(|taken| taken.is_by(&self.parent, name));
                let entry = here.map(|taken| (query.route.clone(), taken.route.clone()));
                match (place, entry) {
                    (Ok(place), Some(entry)) => drop(routes.splice(place..=place, [entry])),
                    (Ok(place), None) => drop(routes.remove(place)),
                    (Err(place), Some(entry)) => routes.insert(place, entry),
                    (Err(_), None) => {}
                }
            }
            for (taken, name) in taken.iter().flat_map(|taken| taken.names_of(&self.parent)) {
                if !by_listener.contains_key(name) {
                    by_listener.insert(Arc::clone(name), vec![(query.route.clone(), taken.route.clone())]);
                }
            }
        }
        by_listener.retain(|_, routes| !routes.is_empty());
        Some(by_listener)
    }
}

/// An accepted route, and the listeners that take it, each once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TakenBy {
    pub(crate) route: ObjectKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) route: ServedRoute,
    /// By the object that has the listener, and its name there.
    listeners: Vec<(ObjectKey, Arc<str>)>,
}

impl Taken {
    fn is_by(&self, parent: &ObjectKey, listener: &Arc<str>) -> bool {
        self.names_of(parent).any(|(_, name)| name == listener)
    }

    /// The names of the listeners of one object, each beside this.
    fn names_of(&self, parent: &ObjectKey) -> impl Iterator<Item = (&Taken, &Arc<str>)> {
        self.listeners.iter().filter(move |(to, _)| to == parent).map(move |(_, name)| (self, name))
    }
}

impl Query for TakenBy {
    type Value = Option<Taken>;

    fn compute(&self, view: &View<'_>) -> Option<Taken> {
        let meaning = view.get(&Meaning { route: self.route.clone() });
        let meaning = meaning.as_ref().as_ref().filter(|meaning| meaning.refusal.is_none())?;
        let mut listeners: Vec<(ObjectKey, Arc<str>)> = Vec::new();
        for attachment in view.get(&Attachments { route: self.route.clone() }).iter() {
            for listener in attachment.listeners.iter().flatten() {
                let listener = (attachment.parent.clone(), Arc::clone(listener));
                if !listeners.contains(&listener) {
                    listeners.push(listener);
                }
            }
        }
        (!listeners.is_empty()).then(|| Taken { route: meaning.route.clone(), listeners })
    }
}

/// The accepted routes of one listener, whether or not the listener itself is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ListenerRoutes {
    pub(crate) owner: ObjectKey,
    pub(crate) name: Arc<str>,
}

/// How many routes [`ListenerRoutes`] has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RouteCount {
    pub(crate) owner: ObjectKey,
    pub(crate) name: Arc<str>,
}

impl Query for RouteCount {
    type Value = usize;

    fn compute(&self, view: &View<'_>) -> usize {
        view.get(&ListenerRoutes { owner: self.owner.clone(), name: Arc::clone(&self.name) }).routes.len()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attached {
    pub(crate) routes: Vec<ServedRoute>,
}

impl Attached {
    /// The routes of a sort.
    pub(crate) fn all<R>(&self, sort: impl Fn(&ServedRoute) -> Option<&Arc<R>>) -> Vec<Arc<R>> {
        self.routes.iter().filter_map(sort).cloned().collect()
    }
}

impl Query for ListenerRoutes {
    type Value = Attached;

    fn compute(&self, view: &View<'_>) -> Attached {
        let routes = view.get(&RoutesOf { parent: self.owner.clone() });
        let here = routes.get(&self.name).into_iter().flatten();
        Attached { routes: here.map(|(_, route)| route.clone()).collect() }
    }
}
