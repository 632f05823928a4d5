//! CA certificates: which kinds of objects hold them, and what the objects hold.

use std::sync::Arc;

use portcullis_api::{Kind, ObjectKey};
use portcullis_model::CaBundle;

use crate::memo::Query;
use crate::origin::origin;
use crate::view::View;

/// The entry of a ConfigMap or Secret that holds CA certificates.
const ENTRY: &str = "ca.crt";

/// The kind of this group and name, if its objects hold CA certificates, and there can be any.
pub(crate) fn kind_of(view: &View<'_>, group: &str, kind: &str) -> Option<Kind> {
    let known = Kind::of(group, kind)?;
    let holds = matches!(known, Kind::ConfigMap | Kind::Secret | Kind::ClusterTrustBundle);
    (holds && view.is_served(known)).then_some(known)
}

/// The CA certificates that an object holds, or why it holds none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Authorities {
    pub(crate) object: ObjectKey,
}

impl Query for Authorities {
    type Value = Result<Arc<CaBundle>, String>;

    fn compute(&self, view: &View<'_>) -> Result<Arc<CaBundle>, String> {
        let pem = pem(view, &self.object)?;
        CaBundle::parse(origin(&self.object), &pem)
            .map(Arc::new)
            .map_err(|error| format!("{} cannot be used: {error}", self.object))
    }
}

fn pem(view: &View<'_>, object: &ObjectKey) -> Result<Vec<u8>, String> {
    let missing = || format!("{object} does not exist");
    let no_entry = || format!("{object} has no {ENTRY}");
    match object.kind {
        Kind::ConfigMap => {
            let map = view.config_map(object).ok_or_else(missing)?;
            let text = map.data.as_ref().and_then(|data| data.get(ENTRY)).map(|text| text.clone().into());
            let bytes = map.binary_data.as_ref().and_then(|data| data.get(ENTRY));
            text.or_else(|| bytes.map(|bytes| bytes.0.clone())).ok_or_else(no_entry)
        }
        Kind::Secret => {
            let secret = view.secret(object).ok_or_else(missing)?;
            secret.get(ENTRY).map(<[u8]>::to_vec).ok_or_else(no_entry)
        }
        Kind::ClusterTrustBundle => {
            let bundle = view.cluster_trust_bundle(object).ok_or_else(missing)?;
            Ok(bundle.spec.trust_bundle.clone().into())
        }
        _ => Err(format!("{object} is of a kind that holds no CA certificates")),
    }
}
