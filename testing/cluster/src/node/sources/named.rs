//! What a pod's specification names.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, PodSpec, Volume};

use super::{Claim, Source};
use crate::node::volumes::{Projection, projections};

/// The Secrets and ConfigMaps of a pod's volumes and environments.
pub(crate) fn named(spec: &PodSpec) -> BTreeSet<Source> {
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let mut sources: BTreeSet<Source> = containers.flat_map(of_environment).collect();
    for projection in all_projections(spec) {
        if let Projection::Entries { source, .. } = projection {
            sources.insert(source);
        }
    }
    sources
}

/// The tokens of a pod's volumes.
pub(crate) fn claims(spec: &PodSpec) -> BTreeSet<Claim> {
    let tokens = all_projections(spec).filter_map(|projection| match projection {
        Projection::Token { claim, .. } => Some(claim),
        _ => None,
    });
    tokens.collect()
}

fn all_projections(spec: &PodSpec) -> impl Iterator<Item = Projection> {
    let volumes: Vec<&Volume> = spec.volumes.iter().flatten().collect();
    volumes.into_iter().filter_map(projections).flatten()
}

fn of_environment(container: &Container) -> Vec<Source> {
    let mut sources = Vec::new();
    for from in container.env_from.iter().flatten() {
        sources.extend(from.secret_ref.as_ref().map(|secret| Source::Secret(secret.name.clone())));
        sources.extend(from.config_map_ref.as_ref().map(|map| Source::ConfigMap(map.name.clone())));
    }
    for from in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        sources.extend(from.secret_key_ref.as_ref().map(|key| Source::Secret(key.name.clone())));
        sources.extend(from.config_map_key_ref.as_ref().map(|key| Source::ConfigMap(key.name.clone())));
    }
    sources
}
