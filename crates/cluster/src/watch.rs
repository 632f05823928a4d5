//! One watch: a list and what changes after it, for as long as it is wanted.

use crate::limits::{FIRST_PAUSE, SILENCE_OF_STREAMED_LISTS};
use crate::pauses::Pauses;
use crate::signal::{Event, Failure};
use futures::{Stream, StreamExt};
use kube::core::Resource;
use kube::runtime::watcher::{self, Config};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::pin::pin;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Watches everything of a resource and sends what `wrap` makes of it, until nobody receives. `O` is what is kept of an
/// object.
///
/// Whatever fails is tried again, with pauses; after an interruption the watch goes on where it was, and lists anew
/// only when the API server no longer knows what has happened since (410).
pub(crate) async fn follow<K, O, T>(api: Api<K>, events: Sender<T>, wrap: impl Fn(Event<O>) -> T + Send)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Into<O> + 'static,
{
    let mut pauses = Pauses::new(FIRST_PAUSE);
    let mut way = Way::Streamed;
    while let End::OtherWay = attempt(&api, way, &mut pauses, &events, &wrap).await {
        way = Way::Paged;
    }
}

/// The objects of a resource in all namespaces.
pub(crate) fn all<K>(client: Client, resource: &K::DynamicType) -> Api<K>
where
    K: Resource,
{
    Api::all_with(client, resource)
}

/// How a list comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As the beginning of the watch: cheap for the API server and for us, and not known to all API servers.
    Streamed,
    /// In pages, before the watch.
    Paged,
}

/// Why a watch has ended.
enum End {
    /// This API server does not have lists in this way.
    OtherWay,
    /// Nobody receives.
    Unwanted,
}

async fn attempt<K, O, T>(
    api: &Api<K>,
    way: Way,
    pauses: &mut Pauses,
    events: &Sender<T>,
    wrap: &(impl Fn(Event<O>) -> T + Send),
) -> End
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Into<O> + 'static,
{
    let config = match way {
        Way::Streamed => Config::default().streaming_lists(),
        Way::Paged => Config::default(),
    };
    let mut stream = pin!(watcher::watcher(api.clone(), config));
    let mut is_listing = false;
    loop {
        let event = match next(&mut stream, is_listing && way == Way::Streamed).await {
            Some(Ok(event)) => event,
            Some(Err(error)) => {
                let failure = Failure::from(&error);
                if way == Way::Streamed && matches!(failure.code, Some(400 | 422)) {
                    return End::OtherWay;
                }
                if events.send(wrap(Event::Failed(failure.clone()))).await.is_err() {
                    return End::Unwanted;
                }
                pauses.pause_after(&failure).await;
                continue;
            }
            None => return End::OtherWay,
        };
        match event {
            watcher::Event::Init if is_listing => pauses.pause().await, // the last one has not come to its end
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
            _ => pauses.reset(),
        }
        is_listing = matches!(event, watcher::Event::Init | watcher::Event::InitApply(_));
        if events.send(wrap(translate(event))).await.is_err() {
            return End::Unwanted;
        }
    }
}

/// The next event; none when a list that should be streamed stays silent.
async fn next<S: Stream + Unpin>(stream: &mut S, is_streamed_list: bool) -> Option<S::Item> {
    if is_streamed_list {
        timeout(SILENCE_OF_STREAMED_LISTS, stream.next()).await.ok().flatten()
    } else {
        stream.next().await
    }
}

fn translate<K: Into<O>, O>(event: watcher::Event<K>) -> Event<O> {
    match event {
        watcher::Event::Init => Event::Listing,
        watcher::Event::InitApply(object) => Event::Listed(object.into()),
        watcher::Event::InitDone => Event::Complete,
        watcher::Event::Apply(object) => Event::Applied(object.into()),
        watcher::Event::Delete(object) => Event::Deleted(object.into()),
    }
}
