//! Resolution of arbitrary objects: whatever admission lets through makes nothing panic, and following a change
//! gives what resolving afresh gives.
//!
//! The bytes are YAML; good seeds are the examples and the cases of the resolve crate.

use std::path::Path;

use portcullis_resolve::{Engine, Resolver, resolve};
use portcullis_store::{Change, Store};

pub(crate) fn run(bytes: &[u8]) {
    let loaded = portcullis_files::read(Path::new("fuzz.yaml"), bytes);
    let engine = Engine::native_from_files().assuming_bound();
    let half = loaded.objects.len() / 2;
    let mut store = Store::new();
    let mut objects = loaded.objects.into_iter().map(Change::Put);
    store.apply(objects.by_ref().take(half));
    let mut resolver = Resolver::new(engine.clone(), &store);
    let changes = store.apply(objects);
    resolver.update(&store, &changes);
    let afresh = resolve(&store, &engine);
    let followed = resolver.resolved();
    assert_eq!(followed.model.ports, afresh.model.ports);
    assert_eq!(followed.model.clusters, afresh.model.clusters);
    assert_eq!(followed.model.endpoints, afresh.model.endpoints);
    assert_eq!(followed.statuses, afresh.statuses);
}
