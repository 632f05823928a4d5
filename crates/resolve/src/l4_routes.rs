//! TLSRoutes, TCPRoutes and UDPRoutes: what they mean, wherever they attach.

use std::sync::Arc;

use portcullis_api::l4_route::L4RouteRule;
use portcullis_api::port::PortNumber;
use portcullis_api::references::BackendRef;
use portcullis_api::{FieldPath, Kind, Object, ObjectKey};
use portcullis_model::{ClusterKey, Failure, L4Route, Target, WeightedBackend};

use crate::age::age;
use crate::backends::{self, Refusal, Speech};
use crate::causes::{L4_RULE_IGNORED, L4_ZERO_WEIGHT};
use crate::finding::Finding;
use crate::origin::origin;
use crate::routes::{Common, RouteMeaning, ServedRoute};
use crate::view::View;

/// What a route below HTTP means. Nothing if it does not exist.
///
/// Its first rule holds: only v1alpha2 has several, and without matches the first takes everything.
pub(crate) fn read(view: &View<'_>, key: &ObjectKey) -> Option<RouteMeaning> {
    let common = Common::read(view, key)?;
    let rules: &[L4RouteRule] = match view.object(key)? {
        Object::TlsRoute(route) => &route.spec.rules,
        Object::TcpRoute(route) => &route.spec.rules,
        Object::UdpRoute(route) => &route.spec.rules,
        _ => return None,
    };
    let references = rules.first().map(|rule| rule.backend_refs.as_slice()).unwrap_or_default();
    let path = FieldPath::of("spec").field("rules");
    let reader = Reader { view, key, common, references, path: path.index(0).field("backendRefs") };
    let mut meaning = match key.kind {
        Kind::TlsRoute => {
            let (terminated, unresolved, findings) = reader.read(Speech::Stream);
            let (passed_through, _, _) = reader.read(Speech::PassedThrough);
            RouteMeaning::plain(ServedRoute::Tls { terminated, passed_through }, unresolved, findings)
        }
        kind => {
            let speech = if kind == Kind::UdpRoute { Speech::Datagrams } else { Speech::Stream };
            let (route, unresolved, findings) = reader.read(speech);
            RouteMeaning::plain(ServedRoute::L4(route), unresolved, findings)
        }
    };
    let ignored = (1..rules.len()).map(|index| Finding::plain(&L4_RULE_IGNORED, path.index(index)));
    meaning.findings.extend(ignored);
    Some(meaning)
}

struct Reader<'a> {
    view: &'a View<'a>,
    key: &'a ObjectKey,
    common: Common<'a>,
    references: &'a [BackendRef],
    path: FieldPath,
}

impl Reader<'_> {
    /// The route, the references that do not resolve, and everything found.
    fn read(&self, speech: Speech) -> (Arc<L4Route>, Vec<Finding>, Vec<Finding>) {
        let (mut unresolved, mut findings) = (Vec::new(), Vec::new());
        let mut backends = Vec::with_capacity(self.references.len());
        for (index, reference) in self.references.iter().enumerate() {
            let (origin, resolved) = backends::resolve_as(self.view, self.key, reference, speech);
            let target = match resolved {
                Ok(cluster) => Target::Cluster(cluster),
                Err(Refusal { cause, reason, message }) => {
                    let finding = Finding::new(cause, self.path.index(index), message.clone());
                    if !cause.reason.is_empty() {
                        unresolved.push(finding.clone());
                    }
                    findings.push(finding);
                    Target::Fail(Failure { status: 500, reason, message })
                }
            };
            let port = reference.port.map(PortNumber::get);
            let filters = Vec::new();
            backends.push(WeightedBackend { origin, port, weight: reference.weight, target, filters });
        }
        if !backends.is_empty() && backends.iter().all(|backend| backend.weight == 0) {
            findings.push(Finding::plain(&L4_ZERO_WEIGHT, self.path.clone()));
        }
        let route = L4Route {
            origin: origin(self.key),
            age: age(self.common.metadata),
            hostnames: self.common.hostnames(),
            backends,
        };
        (Arc::new(route), unresolved, findings)
    }
}

/// The clusters that a route leads to, some of them more than once.
pub(crate) fn clusters(route: &L4Route) -> impl Iterator<Item = ClusterKey> {
    route.backends.iter().filter_map(|backend| match &backend.target {
        Target::Cluster(key) => Some(key.clone()),
        Target::Fail(_) => None,
    })
}
