//! Of which release of the Gateway API a cluster's CRDs are.

use std::fmt::Write;
use std::ops::RangeInclusive;

use portcullis_api::{FieldPath, Kind};

use crate::causes::BUNDLE_VERSION_UNKNOWN;
use crate::finding::Finding;
use crate::view::View;

/// The releases whose CRDs are known: v1.4 to v1.7, with any patch.
const KNOWN_MINORS: RangeInclusive<u32> = 4..=7;

/// A finding if a CRD does not tell that it is of a release that is known.
///
/// Source: `GatewayClassConditionStatusSupportedVersion` field documentation.
pub(super) fn unknown(view: &View<'_>) -> Option<Finding> {
    let versions = view.bundle_versions()?;
    if versions.is_empty() {
        return Some(finding(
            "it cannot be told of which release the CRDs are: they may not be read".to_owned(),
        ));
    }
    let unknown = |(_, version): &(&Kind, &Option<_>)| !version.as_deref().is_some_and(is_known);
    let mut unknown = versions.iter().filter(unknown);
    let (kind, version) = unknown.next()?;
    let mut message = match version {
        Some(version) => format!("the CRD of {kind} is of {version}, and v1.4 to v1.7 are known"),
        None => format!("the CRD of {kind} has no annotation that tells its bundle version"),
    };
    let others = unknown.count();
    if others > 0 {
        let _ = write!(message, "; {others} other CRDs of the Gateway API are of no known version either");
    }
    Some(finding(message))
}

fn finding(message: String) -> Finding {
    Finding::new(&BUNDLE_VERSION_UNKNOWN, FieldPath::default(), message)
}

/// Whether a bundle version, such as `v1.7.0`, is of a release that is known.
fn is_known(version: &str) -> bool {
    let minor = version.strip_prefix("v1.").and_then(|rest| rest.split('.').next());
    minor.and_then(|minor| minor.parse().ok()).is_some_and(|minor| KNOWN_MINORS.contains(&minor))
}
