//! The end of a pod.

use std::{pin::pin, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, Preconditions},
};
use tokio::{sync::watch, time::sleep};

use super::{End, PodRun};
use crate::node::{
    limits::{GRACE_SECONDS, RETRY},
    status,
};

/// Lets a pod live until it is over and asked to go, or gone, and tells it when it is to stop.
pub(super) async fn until_asked(
    mut pod: watch::Receiver<Arc<Pod>>,
    stop: &watch::Sender<Option<Duration>>,
    life: impl Future<Output = ()>,
) -> End {
    let mut life = pin!(life);
    let (mut over, mut asked) = (false, false);
    pod.mark_changed();
    loop {
        tokio::select! {
            () = &mut life, if !over => over = true,
            changed = pod.changed() => match changed {
                Ok(()) => {
                    let grace = grace(&pod.borrow_and_update());
                    if grace.is_some() {
                        asked = true;
                        stop.send_replace(grace);
                    }
                }
                Err(_) => {
                    stop.send_replace(Some(Duration::ZERO));
                    if !over {
                        life.await;
                    }
                    return End::Gone;
                }
            },
        }
        if over && asked {
            return End::Asked;
        }
    }
}

/// How long a pod may take to end, once it is asked to.
fn grace(pod: &Pod) -> Option<Duration> {
    pod.metadata.deletion_timestamp.as_ref()?;
    let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or(GRACE_SECONDS);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

/// Writes how the pod ended, and removes it from the API server.
pub(super) async fn remove(run: &PodRun) {
    if let Err(error) = status::write(run).await {
        tracing::debug!(pod = %run.name, %error, "the last status is not written");
    }
    let pods: Api<Pod> = Api::namespaced(run.node.client.clone(), &run.namespace);
    let parameters = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions { uid: Some(run.uid.clone()), ..Preconditions::default() }),
        ..DeleteParams::default()
    };
    loop {
        match pods.delete(&run.name, &parameters).await {
            Ok(_) => return,
            Err(kube::Error::Api(refusal)) if refusal.is_not_found() || refusal.is_conflict() => return,
            Err(error) => {
                tracing::warn!(pod = %run.name, %error, "pod is not removed and will be tried again");
            }
        }
        sleep(RETRY).await;
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn pod(deleted: bool) -> Arc<Pod> {
        let mut pod = Pod::default();
        if deleted {
            pod.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
            pod.metadata.deletion_grace_period_seconds = Some(7);
        }
        Arc::new(pod)
    }

    #[tokio::test]
    async fn a_pod_that_is_asked_to_go_stops_with_its_grace() {
        let (shown, pod_seen) = watch::channel(pod(false));
        let (stop, stopped) = watch::channel(None);
        let life = async { _ = stopped.clone().wait_for(Option::is_some).await };
        let (end, ()) = tokio::join!(until_asked(pod_seen, &stop, life), async {
            shown.send_replace(pod(true));
        });
        assert_eq!(end, End::Asked);
        assert_eq!(*stopped.borrow(), Some(Duration::from_secs(7)));
    }

    #[tokio::test]
    async fn a_pod_that_is_gone_stops_at_once() {
        let (shown, pod_seen) = watch::channel(pod(false));
        let (stop, stopped) = watch::channel(None);
        let life = async { _ = stopped.clone().wait_for(Option::is_some).await };
        drop(shown);
        assert_eq!(until_asked(pod_seen, &stop, life).await, End::Gone);
        assert_eq!(*stopped.borrow(), Some(Duration::ZERO));
    }

    #[tokio::test]
    async fn a_pod_that_is_over_waits_to_be_asked() {
        let (shown, pod_seen) = watch::channel(pod(false));
        let (stop, _stopped) = watch::channel(None);
        let mut end = pin!(until_asked(pod_seen, &stop, std::future::ready(())));
        assert!(futures::poll!(&mut end).is_pending());
        shown.send_replace(pod(true));
        assert_eq!(end.await, End::Asked);
    }
}
