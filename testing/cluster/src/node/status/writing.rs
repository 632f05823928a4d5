//! Writing a pod's status when it changes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::status;
use crate::node::{limits::RETRY, pod::PodRun};

/// Writes the status whenever it changes, for as long as it is polled.
pub(crate) async fn keep(run: &PodRun) {
    let (mut state, mut pod) = (run.state.subscribe(), run.pod.clone());
    loop {
        state.borrow_and_update();
        pod.borrow_and_update();
        if let Err(error) = write(run).await {
            tracing::debug!(pod = %run.name, %error, "status is not written");
            sleep(RETRY).await;
            continue;
        }
        tokio::select! {
            changed = state.changed() => if changed.is_err() { return },
            changed = pod.changed() => if changed.is_err() { return },
        }
    }
}

/// Writes the status if it is not what was written last. A pod that is gone needs none.
pub(crate) async fn write(run: &PodRun) -> kube::Result<()> {
    let pod = run.pod.borrow().clone();
    let now = Timestamp::now();
    let status = {
        let written = run.written.borrow();
        let before = written.as_ref().or(pod.status.as_ref()).and_then(|status| status.conditions.as_deref());
        let status =
            status(&pod, before.unwrap_or_default(), &run.state.borrow(), run.node.network.host, now);
        if written.as_ref() == Some(&status) {
            return Ok(());
        }
        status
    };
    let patch = patch(&run.uid, &status)?;
    let pods: Api<Pod> = Api::namespaced(run.node.client.clone(), &run.namespace);
    match pods.patch_status(&run.name, &PatchParams::default(), &Patch::Strategic(patch)).await {
        Ok(_) => {}
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() || refusal.is_conflict() => {}
        Err(error) => return Err(error),
    }
    run.written.send_replace(Some(status));
    Ok(())
}

/// The whole status, for the pod of this uid alone. Conditions of others stay: their list is merged by
/// type. So would be the list of addresses, by address; it is to be replaced.
fn patch(uid: &str, status: &PodStatus) -> kube::Result<Value> {
    let mut status = serde_json::to_value(status).map_err(kube::Error::SerdeError)?;
    if let Some(addresses) = status.get_mut("podIPs").and_then(Value::as_array_mut) {
        addresses.push(json!({"$patch": "replace"}));
    }
    Ok(json!({"metadata": {"uid": uid}, "status": status}))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodIP;

    use super::*;

    #[test]
    fn addresses_are_replaced_and_not_merged() {
        let addresses = Some(vec![PodIP { ip: "10.244.0.2".to_owned() }]);
        let patch = patch("u", &PodStatus { pod_ips: addresses, ..PodStatus::default() }).unwrap();
        let expected = json!({"podIPs": [{"ip": "10.244.0.2"}, {"$patch": "replace"}]});
        assert_eq!(patch, json!({"metadata": {"uid": "u"}, "status": expected}));
    }
}
