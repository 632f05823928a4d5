//! What the specs of all routes have in common.

use portcullis_api::ObjectKey;
use portcullis_api::hostname::Hostname;
use portcullis_api::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use portcullis_api::references::ParentRef;
use portcullis_model::HostPattern;

use crate::view::View;

/// What every route says, whatever its kind.
#[derive(Clone, Copy)]
pub(crate) struct Common<'a> {
    pub(crate) metadata: &'a ObjectMeta,
    pub(crate) parent_refs: &'a [ParentRef],
    /// None for kinds that know no hostnames.
    hostnames: &'a [Hostname],
}

impl<'a> Common<'a> {
    /// Of a route; nothing if it does not exist, or is no route.
    pub(crate) fn read(view: &View<'a>, key: &ObjectKey) -> Option<Common<'a>> {
        let object = view.object(key)?;
        let parent_refs = object.route_parents()?;
        let hostnames = object.route_hostnames();
        Some(Common { metadata: object.metadata(), parent_refs, hostnames })
    }

    /// The hostnames as they are written, in their order.
    pub(crate) fn written_hostnames(&self) -> impl Iterator<Item = (usize, &'a Hostname)> {
        self.hostnames.iter().enumerate()
    }

    /// The route's own hostnames; one that names none takes every host.
    pub(crate) fn hostnames(&self) -> Vec<HostPattern> {
        let mut hostnames: Vec<HostPattern> = Vec::new();
        for hostname in self.hostnames {
            let pattern = HostPattern::parse(hostname.as_str());
            if !hostnames.contains(&pattern) {
                hostnames.push(pattern);
            }
        }
        if hostnames.is_empty() { vec![HostPattern::Any] } else { hostnames }
    }
}
