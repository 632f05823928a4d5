//! GRPCRoutes: all but their matches means what it means in an HTTPRoute.

mod matches;
mod rules;

use portcullis_api::ObjectKey;

use crate::http_routes;
use crate::routes::{RouteMeaning, ServedRoute};
use crate::view::View;
pub(crate) use matches::read as read_match;
pub(crate) use rules::as_http;

/// What a GRPCRoute means. Nothing if it does not exist.
pub(crate) fn read(view: &View<'_>, key: &ObjectKey) -> Option<RouteMeaning> {
    let route = view.grpc_route(key)?;
    http_routes::meaning(view, key, route.spec.rules.len(), ServedRoute::Grpc)
}
