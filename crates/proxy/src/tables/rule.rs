//! A rule as it is served.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use portcullis_model::{
    Action, ExternalAuth, Failure, Listener, Mirror, MirrorShare, Retry, Rule, Target, WeightedBackend,
};
use portcullis_routing::Scheme;

use super::clusters::Clusters;
use crate::filters::{CompiledAuth, CompiledRedirect, Filters};
use crate::reason::Reason;
use crate::upstream::{Cluster, Identity};

/// A rule of one listener, with everything settled that does not depend on the request.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) treatment: Treatment,
    /// Who is asked whether a request may pass.
    pub(crate) asks: Box<[CompiledAsk]>,
    /// Where copies of requests go.
    pub(crate) mirrors: Box<[Arc<CompiledMirror>]>,
    pub(crate) action: CompiledAction,
}

/// How requests are sent, and what becomes of their answers.
#[derive(Debug, Default)]
pub(crate) struct Treatment {
    pub(crate) filters: Filters,
    pub(crate) request_timeout: Option<Duration>,
    pub(crate) backend_timeout: Option<Duration>,
    pub(crate) retry: Option<Retry>,
}

/// Who is asked whether a request may pass.
#[derive(Debug)]
pub(crate) struct CompiledAsk {
    pub(crate) filter: CompiledAuth,
    /// The rule's time, if a rule has the filter, and neither filters nor retries.
    pub(crate) treatment: Treatment,
    pub(crate) backend: Backend,
}

/// Where copies of some requests go.
#[derive(Debug)]
pub(crate) struct CompiledMirror {
    pub(crate) share: MirrorShare,
    /// Neither filters nor retries.
    pub(crate) treatment: Treatment,
    pub(crate) backend: Backend,
}

#[derive(Debug)]
pub(crate) enum CompiledAction {
    Forward(Shares),
    Redirect(CompiledRedirect),
    Fail(Refusal),
}

/// An error that the configuration demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) reason: Reason,
}

/// A backend of a rule.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) filters: Filters,
    pub(crate) target: CompiledTarget,
}

#[derive(Debug)]
pub(crate) enum CompiledTarget {
    Cluster(Arc<Cluster>),
    Fail(Refusal),
}

/// The backends of a rule and their shares, exact over time in every worker.
///
/// Request number n takes the place `n * stride mod total`, and each backend holds as many places as its weight. As
/// stride and total have no common factor, `total` requests take each place once; as their ratio is near the golden
/// one, a backend's turns lie evenly among the others'.
#[derive(Debug)]
pub(crate) struct Shares {
    backends: Box<[Backend]>,
    /// The end of each backend's places.
    ends: Box<[u64]>,
    total: u64,
    stride: u64,
    /// Requests so far, of each worker; empty if there is nothing to choose.
    counts: Box<[Count]>,
}

/// A worker's counter, on a cache line of its own: others write theirs at the same time.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Count(AtomicU32);

impl CompiledRule {
    pub(crate) fn compile(
        listener: &Listener,
        rule: &Rule,
        clusters: &Clusters,
        port_offset: u16,
        workers: usize,
    ) -> CompiledRule {
        let scheme = Scheme::of(&listener.protocol).unwrap_or(Scheme::Http); // below HTTP there are no rules
        let identity = listener.client_certificate.as_ref().map(Identity::new);
        let request_timeout = rule.timeouts.request;
        let asks =
            rule.auths().map(|auth| CompiledAsk::compile(auth, request_timeout, clusters, identity.as_ref()));
        let asks: Option<Box<[CompiledAsk]>> = asks.collect();
        let asks_none = asks.is_none();
        CompiledRule {
            treatment: Treatment {
                filters: Filters::compile(&rule.filters),
                request_timeout,
                backend_timeout: rule.timeouts.backend_request,
                retry: rule.retry.clone(),
            },
            asks: asks.unwrap_or_default(),
            mirrors: rule
                .mirrors()
                .map(|mirror| CompiledMirror::compile(mirror, clusters, identity.as_ref()))
                .collect(),
            action: match &rule.action {
                // What cannot be asked cannot let anything pass.
                _ if asks_none => CompiledAction::Fail(Refusal { status: 500, reason: Reason::RuleInvalid }),
                Action::Forward(forward) => CompiledAction::Forward(Shares::compile(
                    &forward.backends,
                    clusters,
                    identity.as_ref(),
                    workers,
                )),
                Action::Redirect(redirect) => {
                    match CompiledRedirect::compile(redirect, scheme, listener.port, port_offset) {
                        Ok(redirect) => CompiledAction::Redirect(redirect),
                        Err(error) => {
                            let (route, rule) = (&rule.id.route, rule.id.index);
                            tracing::warn!(%route, rule, %error, "a rule answers 500");
                            CompiledAction::Fail(Refusal { status: 500, reason: Reason::RuleInvalid })
                        }
                    }
                }
                Action::Fail(failure) => CompiledAction::Fail(failure.into()),
            },
        }
    }
}

impl CompiledAsk {
    pub(super) fn compile(
        auth: &ExternalAuth,
        request_timeout: Option<Duration>,
        clusters: &Clusters,
        identity: Option<&Identity>,
    ) -> Option<CompiledAsk> {
        let target = CompiledTarget::Cluster(clusters.cluster(&auth.cluster, identity));
        Some(CompiledAsk {
            filter: CompiledAuth::compile(auth).ok()?,
            treatment: Treatment { request_timeout, ..Treatment::default() },
            backend: Backend { filters: Filters::default(), target },
        })
    }
}

impl CompiledMirror {
    fn compile(mirror: &Mirror, clusters: &Clusters, identity: Option<&Identity>) -> Arc<CompiledMirror> {
        let target = CompiledTarget::Cluster(clusters.cluster(&mirror.cluster, identity));
        let backend = Backend { filters: Filters::default(), target };
        Arc::new(CompiledMirror { share: mirror.share, treatment: Treatment::default(), backend })
    }
}

impl From<&Failure> for Refusal {
    fn from(failure: &Failure) -> Refusal {
        Refusal { status: failure.status, reason: failure.reason.into() }
    }
}

impl Backend {
    fn compile(backend: &WeightedBackend, clusters: &Clusters, identity: Option<&Identity>) -> Backend {
        Backend {
            filters: Filters::compile(&backend.filters),
            target: match &backend.target {
                Target::Cluster(key) => CompiledTarget::Cluster(clusters.cluster(key, identity)),
                Target::Fail(failure) => CompiledTarget::Fail(failure.into()),
            },
        }
    }
}

impl Shares {
    pub(crate) fn compile(
        backends: &[WeightedBackend],
        clusters: &Clusters,
        identity: Option<&Identity>,
        workers: usize,
    ) -> Shares {
        let weighted = backends.iter().filter(|backend| backend.weight > 0);
        let compiled = |backend: &WeightedBackend| {
            (Backend::compile(backend, clusters, identity), u64::from(backend.weight))
        };
        let (backends, weights): (Vec<Backend>, Vec<u64>) = weighted.map(compiled).unzip();
        Shares::new(backends, &weights, workers)
    }

    fn new(backends: Vec<Backend>, weights: &[u64], workers: usize) -> Shares {
        let divisor = weights.iter().copied().fold(0, gcd).max(1);
        let mut total = 0;
        let ends = weights.iter().map(|weight| {
            total += weight / divisor;
            total
        });
        let ends: Box<[u64]> = ends.collect();
        let counted = if backends.len() > 1 { workers } else { 0 };
        let first = |worker: usize| u32::try_from(worker as u64 % total.max(1)).unwrap_or(0);
        let counts = (0..counted).map(|worker| Count(AtomicU32::new(first(worker))));
        Shares { backends: backends.into(), ends, total, stride: stride(total), counts: counts.collect() }
    }

    /// Whether a backend with a share is this cluster.
    pub(crate) fn leads_to(&self, cluster: &Arc<Cluster>) -> bool {
        self.backends.iter().any(|backend| match &backend.target {
            CompiledTarget::Cluster(own) => Arc::ptr_eq(own, cluster),
            CompiledTarget::Fail(_) => false,
        })
    }

    /// The backend of this worker's next request; none only if the rule has none.
    pub(crate) fn next(&self, worker: usize) -> Option<&Backend> {
        self.backends.get(self.next_index(worker))
    }

    fn next_index(&self, worker: usize) -> usize {
        let Some(Count(count)) = self.counts.get(worker) else { return 0 };
        let number = u64::from(count.load(Ordering::Relaxed));
        let following = number + 1;
        // The cycle ends with the total, or the counter's overflow would repeat some places.
        let following = if following >= self.total { 0 } else { following };
        count.store(u32::try_from(following).unwrap_or(0), Ordering::Relaxed); // no other worker writes it
        let place = number * self.stride % self.total.max(1);
        self.ends.partition_point(|end| *end <= place)
    }
}

/// A number without a common factor with `total`, near its golden section.
fn stride(total: u64) -> u64 {
    let golden = total * 618 / 1000;
    (golden.max(1)..).find(|stride| gcd(*stride, total) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(weights: &[u64]) -> Shares {
        let refusal = Refusal { status: 500, reason: Reason::BackendInvalid };
        let backend = || Backend { filters: Filters::default(), target: CompiledTarget::Fail(refusal) };
        Shares::new(weights.iter().map(|_| backend()).collect(), weights, 2)
    }

    /// Weights are exact over time per worker.
    #[test]
    fn every_backend_gets_exactly_its_share_of_each_cycle() {
        for weights in
            [&[1, 1][..], &[90, 10], &[1, 2, 3], &[7, 1, 1, 1], &[1_000_000, 999_999], &[5, 10, 15]]
        {
            let shares = shares(weights);
            let divisor = weights.iter().copied().fold(0, gcd);
            let total: u64 = weights.iter().sum::<u64>() / divisor;
            for _cycle in 0..2 {
                let mut seen = vec![0u64; weights.len()];
                for _ in 0..total {
                    seen[shares.next_index(0)] += 1;
                }
                let expected: Vec<u64> = weights.iter().map(|weight| weight / divisor).collect();
                assert_eq!(seen, expected);
            }
        }
    }

    #[test]
    fn turns_lie_evenly() {
        let shares = shares(&[9, 1]);
        let turns: Vec<usize> = (0..40).map(|_| shares.next_index(1)).collect();
        for ten in turns.windows(12) {
            assert!(ten.contains(&1), "{turns:?}");
        }
    }
}
