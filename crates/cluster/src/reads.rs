//! Reads of single objects, beside the watches: what one object refers to may reach us later than the object.

use crate::kinds::resource;
use crate::limits::{FIRST_PAUSE_OF_READS, READ_TIMEOUT};
use crate::pauses::Pauses;
use crate::raw::Raw;
use crate::signal::{Failure, Signal};
use kube::api::ListParams;
use kube::{Api, Client};
use portcullis_api::{Kind, ObjectKey};
use portcullis_store::SERVICE_NAME;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// What must be read before an object can be judged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Need {
    /// An object, or that there is none.
    Object(ObjectKey),
    /// The EndpointSlices of a Service.
    EndpointsOf(ObjectKey),
    /// The objects of a kind in a namespace.
    Within(Kind, Arc<str>),
}

impl Need {
    /// The kind of what is read.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Object(key) => key.kind,
            Self::EndpointsOf(_) => Kind::EndpointSlice,
            Self::Within(kind, _) => *kind,
        }
    }
}

/// Reads until there is an answer, and sends it; failures are sent, too.
pub(crate) async fn read(
    client: Client,
    need: Need,
    version: &'static str,
    run: u64,
    turns: Arc<Semaphore>,
    signals: Sender<Signal>,
) {
    let mut pauses = Pauses::new(FIRST_PAUSE_OF_READS);
    loop {
        let answer = {
            let _turn = turns.acquire().await;
            timeout(READ_TIMEOUT, ask(&client, &need, version)).await
        };
        let failure = match answer {
            Ok(Ok(found)) => {
                // Nobody receives when the feed is gone, and then nothing is to be done.
                let _ = signals.send(Signal::Read { need, run, found }).await;
                return;
            }
            Ok(Err(error)) => Failure::from(&error),
            Err(_) => Failure { message: format!("no answer within {READ_TIMEOUT:?}"), code: None },
        };
        if signals.send(Signal::ReadFailed { need: need.clone(), run, failure }).await.is_err() {
            return;
        }
        pauses.pause().await;
    }
}

async fn ask(client: &Client, need: &Need, version: &str) -> Result<Vec<Raw>, kube::Error> {
    let resource = resource(need.kind(), version);
    let within = |namespace: &str| Api::<Raw>::namespaced_with(client.clone(), namespace, &resource);
    match need {
        Need::Object(key) => {
            let api = if key.namespace.is_empty() {
                Api::all_with(client.clone(), &resource)
            } else {
                within(&key.namespace)
            };
            Ok(api.get_opt(&key.name).await?.into_iter().collect())
        }
        Need::EndpointsOf(service) => {
            let of_service = ListParams::default().labels(&format!("{SERVICE_NAME}={}", service.name));
            Ok(within(&service.namespace).list(&of_service).await?.items)
        }
        Need::Within(_, namespace) => Ok(within(namespace).list(&ListParams::default()).await?.items),
    }
}
