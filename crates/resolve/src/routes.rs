//! Routes of every kind: what they have in common, and where what they mean differs.

mod common;
mod meaning;
mod status;

pub(crate) use common::Common;
pub(crate) use meaning::{Meaning, RouteClusters, RouteMeaning, ServedRoute, verdict};
pub(crate) use status::RouteOutcome;
