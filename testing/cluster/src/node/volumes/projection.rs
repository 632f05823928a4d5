//! Secret, ConfigMap, downward API and projected volumes as one: a list of projections.

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection};

use crate::node::sources::{Claim, Source};

/// The mode of a file that nothing else is said of (`defaultMode` field documentation).
const DEFAULT_MODE: i32 = 0o644;

/// The lifetime of a token that nothing is said of (`ServiceAccountTokenProjection.expirationSeconds`).
const TOKEN_SECONDS: i64 = 3600;

/// A part of a volume.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Projection {
    /// Entries of a Secret or ConfigMap: those that are listed, or all under their keys.
    Entries { source: Source, items: Option<Vec<KeyToPath>>, optional: bool, mode: i32 },
    /// Facts about the pod.
    Facts { items: Vec<DownwardAPIVolumeFile>, mode: i32 },
    /// A token of the pod's service account.
    Token { claim: Claim, path: String, mode: i32 },
}

/// The parts of a volume that holds files from the API; None for other volumes.
pub(crate) fn projections(volume: &Volume) -> Option<Vec<Projection>> {
    if let Some(secret) = &volume.secret {
        let source = Source::Secret(secret.secret_name.clone().unwrap_or_default());
        return Some(vec![Projection::Entries {
            source,
            items: secret.items.clone(),
            optional: secret.optional.unwrap_or_default(),
            mode: secret.default_mode.unwrap_or(DEFAULT_MODE),
        }]);
    }
    if let Some(map) = &volume.config_map {
        return Some(vec![Projection::Entries {
            source: Source::ConfigMap(map.name.clone()),
            items: map.items.clone(),
            optional: map.optional.unwrap_or_default(),
            mode: map.default_mode.unwrap_or(DEFAULT_MODE),
        }]);
    }
    if let Some(facts) = &volume.downward_api {
        let items = facts.items.clone().unwrap_or_default();
        return Some(vec![Projection::Facts { items, mode: facts.default_mode.unwrap_or(DEFAULT_MODE) }]);
    }
    let projected = volume.projected.as_ref()?;
    let mode = projected.default_mode.unwrap_or(DEFAULT_MODE);
    projected.sources.iter().flatten().map(|part| projected_part(part, mode)).collect()
}

/// None for a kind of source that this node does not know: the volume is then none of its volumes.
fn projected_part(part: &VolumeProjection, mode: i32) -> Option<Projection> {
    if let Some(secret) = &part.secret {
        return Some(Projection::Entries {
            source: Source::Secret(secret.name.clone()),
            items: secret.items.clone(),
            optional: secret.optional.unwrap_or_default(),
            mode,
        });
    }
    if let Some(map) = &part.config_map {
        return Some(Projection::Entries {
            source: Source::ConfigMap(map.name.clone()),
            items: map.items.clone(),
            optional: map.optional.unwrap_or_default(),
            mode,
        });
    }
    if let Some(facts) = &part.downward_api {
        return Some(Projection::Facts { items: facts.items.clone().unwrap_or_default(), mode });
    }
    let token = part.service_account_token.as_ref()?;
    let seconds = token.expiration_seconds.unwrap_or(TOKEN_SECONDS);
    let claim = Claim { audience: token.audience.clone(), seconds };
    Some(Projection::Token { claim, path: token.path.clone(), mode })
}
