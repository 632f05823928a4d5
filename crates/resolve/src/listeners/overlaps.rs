//! Which listeners of a group of Gateways overlap others in TLS names.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use portcullis_api::ObjectKey;
use portcullis_model::HostPattern;

use super::overlap::{Overlap, overlapping};
use super::served::{PortListeners, ServedTls};
use crate::memo::Query;
use crate::view::View;

/// The listeners of a port whose TLS hostnames or certificates overlap another's: only those are named.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Overlaps {
    pub(crate) leader: ObjectKey,
    pub(crate) port: u16,
}

impl Query for Overlaps {
    type Value = HashMap<(ObjectKey, Arc<str>), Overlap, FixedState>;

    fn compute(&self, view: &View<'_>) -> Self::Value {
        let listeners = view.get(&PortListeners { leader: self.leader.clone(), port: self.port });
        let mut owners = Vec::new();
        let mut hostnames: Vec<Vec<HostPattern>> = Vec::new();
        let mut certificates: Vec<Vec<HostPattern>> = Vec::new();
        for listener in listeners.iter() {
            if let Some(names) = &*view.get(&ServedTls { listener: listener.clone() }) {
                owners.push((listener.owner.clone(), Arc::clone(&listener.name)));
                hostnames.push(vec![names.hostname.clone()]);
                certificates.push(names.certificates.clone());
            }
        }
        let by_hostname = overlapping(&hostnames);
        let by_certificate = overlapping(&certificates);
        let mut found = Self::Value::default();
        for ((owner, hostname), certificate) in owners.into_iter().zip(by_hostname).zip(by_certificate) {
            match (certificate, hostname) {
                (true, _) => found.insert(owner, Overlap::Certificates),
                (false, true) => found.insert(owner, Overlap::Hostnames),
                (false, false) => None,
            };
        }
        found
    }
}
