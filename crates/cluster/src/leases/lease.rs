//! [`Holding`]: one try to get or renew a Lease.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use tokio::time::Instant;

use super::{Candidate, DURATION};
use crate::requests::{self, Refusal};
use crate::writer::FIELD_MANAGER;

/// A Lease as one candidate sees it.
pub(super) struct Holding {
    client: Client,
    candidate: Candidate,
    /// The Lease as last seen, and when it was first seen so by our clock.
    observed: Option<(Lease, Instant)>,
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.candidate.namespace, self.candidate.name)
    }
}

impl Holding {
    pub(super) fn new(client: Client, candidate: Candidate) -> Holding {
        Holding { client, candidate, observed: None }
    }

    /// Tries once; says whether the Lease is ours now.
    ///
    /// What is ours is renewed without reading it first; only a conflict makes us look.
    pub(super) async fn acquire_or_renew(&mut self) -> Result<bool, Refusal> {
        if let Some((lease, _)) = self.observed.clone().filter(|(lease, _)| self.is_ours(lease)) {
            match self.replace(&lease, self.held(&lease)).await {
                Err(Refusal::Conflict | Refusal::Gone) => {}
                other => return other.map(|()| true),
            }
        }
        let lease = match requests::get::<Lease>(&self.client, &self.path()).await {
            Ok(lease) => lease,
            Err(Refusal::Gone) => return self.create().await,
            Err(refusal) => return Err(refusal),
        };
        self.observe(lease.clone());
        if !self.is_ours(&lease) && self.is_valid() {
            return Ok(false);
        }
        match self.replace(&lease, self.held(&lease)).await {
            Err(Refusal::Conflict | Refusal::Gone) => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Gives the Lease back if it is ours.
    pub(super) async fn release(&mut self) -> Result<(), Refusal> {
        let Some((lease, _)) = self.observed.clone().filter(|(lease, _)| self.is_ours(lease)) else {
            return Ok(());
        };
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            ..self.held(&lease)
        };
        self.replace(&lease, spec).await
    }

    /// Looks at the Lease anew, for when a renewal was dropped half way.
    pub(super) async fn look(&mut self) -> Result<(), Refusal> {
        let lease = requests::get(&self.client, &self.path()).await?;
        self.observe(lease);
        Ok(())
    }

    fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.candidate.name)
    }

    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.candidate.namespace)
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        holder(lease) == Some(&self.candidate.identity)
    }

    /// Whether whoever holds the Lease as observed may still lead.
    fn is_valid(&self) -> bool {
        let Some((lease, since)) = &self.observed else { return false };
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        holder(lease).is_some_and(|holder| !holder.is_empty()) && Instant::now() < *since + duration
    }

    /// A Lease that has not changed is as old as when it was first seen.
    fn observe(&mut self, lease: Lease) {
        let known = self.observed.as_ref().is_some_and(|(known, _)| known.spec == lease.spec);
        match &mut self.observed {
            Some((observed, _)) if known => *observed = lease,
            observed => *observed = Some((lease, Instant::now())),
        }
    }

    /// The Lease as ours, from now on or still.
    fn held(&self, before: &Lease) -> LeaseSpec {
        let spec = before.spec.clone().unwrap_or_default();
        let now = MicroTime(Timestamp::now());
        let ours = self.is_ours(before);
        LeaseSpec {
            holder_identity: Some(self.candidate.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            renew_time: Some(now.clone()),
            acquire_time: spec.acquire_time.clone().filter(|_| ours).or(Some(now)),
            lease_transitions: Some(
                spec.lease_transitions.unwrap_or_default().saturating_add((!ours).into()),
            ),
            ..spec
        }
    }

    async fn replace(&mut self, lease: &Lease, spec: LeaseSpec) -> Result<(), Refusal> {
        let lease = Lease { metadata: lease.metadata.clone(), spec: Some(spec) };
        let path = format!("{}?fieldManager={FIELD_MANAGER}", self.path());
        let lease = requests::put(&self.client, &path, &requests::to_json(&lease)?).await?;
        self.observe(lease);
        Ok(())
    }

    async fn create(&mut self) -> Result<bool, Refusal> {
        let metadata = ObjectMeta {
            namespace: Some(self.candidate.namespace.clone()),
            name: Some(self.candidate.name.clone()),
            ..ObjectMeta::default()
        };
        let spec = LeaseSpec { lease_transitions: Some(0), ..self.held(&Lease::default()) };
        let lease = requests::to_json(&Lease { metadata, spec: Some(spec) })?;
        let path = format!("{}?fieldManager={FIELD_MANAGER}", self.collection());
        match requests::post(&self.client, &path, &lease).await {
            Ok(lease) => {
                self.observe(lease);
                Ok(true)
            }
            Err(Refusal::Conflict) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }
}

fn holder(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}
