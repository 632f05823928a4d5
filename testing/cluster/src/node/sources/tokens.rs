//! Tokens of the pod's service account, bound to the pod and renewed before they expire.

use std::{collections::BTreeSet, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    core::v1::{Pod, ServiceAccount},
};
use kube::{Api, Client, api::PostParams};
use tokio::sync::watch::Sender;

use super::{Claim, Inputs};
use crate::node::limits::RETRY;

/// Asks for each token, and again when four fifths of its life are over, for as long as it is polled.
pub(crate) async fn request_tokens(
    client: Client,
    pod: &Pod,
    claims: BTreeSet<Claim>,
    inputs: Sender<Inputs>,
) {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let account = pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref());
    let accounts: Api<ServiceAccount> = Api::namespaced(client, namespace);
    let renewals =
        claims.into_iter().map(|claim| renew(&accounts, account.unwrap_or("default"), pod, claim, &inputs));
    let mut renewals: FuturesUnordered<_> = renewals.collect();
    while renewals.next().await.is_some() {}
    std::future::pending::<()>().await; // a pod that asks for none
}

async fn renew(
    accounts: &Api<ServiceAccount>,
    account: &str,
    pod: &Pod,
    claim: Claim,
    inputs: &Sender<Inputs>,
) {
    let request = request(pod, &claim);
    loop {
        let answer = accounts.create_token_request(account, &PostParams::default(), &request).await;
        let wait = match answer.map(|answer| answer.status.and_then(|status| status.token)) {
            Ok(Some(token)) => {
                inputs.send_modify(|inputs| {
                    inputs.tokens.insert(claim.clone(), token);
                });
                Duration::from_secs(u64::try_from(claim.seconds).unwrap_or(3600) / 5 * 4)
            }
            Ok(None) => RETRY,
            Err(error) => {
                tracing::debug!(account, %error, "no token");
                RETRY
            }
        };
        tokio::time::sleep(wait).await;
    }
}

fn request(pod: &Pod, claim: &Claim) -> TokenRequest {
    TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: claim.audience.clone().map(|audience| vec![audience]),
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: pod.metadata.name.clone(),
                uid: pod.metadata.uid.clone(),
            }),
            expiration_seconds: Some(claim.seconds),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    }
}
