//! An updated resolution is a fresh one, and what differs from the one before is told.

use std::sync::Arc;

use portcullis_resolve::{Engine, Resolved, Resolver, resolve};
use portcullis_store::Store;

use super::expect;
use super::universe::{self, Edit};

/// Follows edits, and says where the two part, or what changed without being told. Each resolution is noted.
pub(crate) fn follow(
    engine: &Engine,
    edits: &[Edit],
    mut note: impl FnMut(&Store, &Resolved),
) -> Result<(), String> {
    let mut store = Store::new();
    store.apply(universe::beginning());
    let mut resolver = Resolver::new(engine.clone(), &store);
    for edit in edits {
        let Some(changes) = edit.changes() else { continue };
        let changes = store.apply(changes);
        let before = Arc::clone(&resolver.resolved().model);
        let statuses = resolver.resolved().statuses.clone();
        let changed = resolver.update(&store, &changes);
        let fresh = resolve(&store, engine);
        if let Some(difference) = expect::difference(resolver.resolved(), &fresh) {
            return Err(format!("{edit}: {difference}"));
        }
        let resolved = resolver.resolved();
        if changed.model == Arc::ptr_eq(&before, &resolved.model) {
            return Err(format!("{edit}: whether the model has changed is told wrongly"));
        }
        let silent = resolved
            .statuses
            .iter()
            .find(|(key, status)| statuses.get(*key) != Some(*status) && !changed.objects.contains(*key));
        if let Some((key, _)) = silent {
            return Err(format!("{edit}: the status of {key} changed silently"));
        }
        let gone = statuses.keys().find(|key| !resolved.statuses.contains_key(*key));
        if let Some(key) = gone.filter(|key| !changed.objects.contains(*key)) {
            return Err(format!("{edit}: {key} lost its status silently"));
        }
        note(&store, resolved);
    }
    Ok(())
}
