//! Routes of kinds that are not served yet: they attach to no listener, and say so.

use portcullis_api::{FieldPath, ObjectKey};

use crate::attachment::{AttachPoints, parent_key};
use crate::causes::ROUTE_KIND_UNSERVED;
use crate::finding::Finding;
use crate::memo::Query;
use crate::outcome::Outcome;
use crate::routes::Common;
use crate::view::View;

/// What is said about a route that the engine does not serve: no entry, for no listener takes its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnservedOutcome {
    pub(crate) key: ObjectKey,
}

impl Query for UnservedOutcome {
    type Value = Outcome;

    fn compute(&self, view: &View<'_>) -> Outcome {
        let Some(route) = Common::read(view, &self.key) else { return Outcome::default() };
        let mut ours = route.parent_refs.iter().filter_map(|reference| parent_key(reference, &self.key));
        if ours.all(|parent| view.get(&AttachPoints { parent }).is_none()) {
            return Outcome::default();
        }
        let message = format!("routes of kind {} are not served yet", self.key.kind);
        Outcome::new(&self.key, None, &[Finding::new(&ROUTE_KIND_UNSERVED, FieldPath::of("spec"), message)])
    }
}
