//! From the API server's acknowledgement of a change to the first right answer.

use std::time::{Duration, Instant};

use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    Stage,
    objects::{self, Kind},
    probe::{Probe, Said},
};
use crate::Error;

/// How long a change is waited for; one that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long answers are watched after the first right one, before the next change.
const REST: Duration = Duration::from_millis(20);

/// Which object changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An HTTPRoute, which leads to one Service or another.
    Route,
    /// The EndpointSlice of a Service, whose port is one or another.
    Endpoints,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Figures {
    /// From the acknowledgement to the first right answer, shortest first; nothing where the answer came earlier.
    pub times: Vec<Duration>,
    /// How many answers were checked.
    pub answers: u64,
    /// Answers, or turns of answers, that were not right at their time.
    pub wrong: Vec<String>,
}

impl Figures {
    /// The mean of the times.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let count = u32::try_from(self.times.len()).unwrap_or(u32::MAX).max(1);
        self.times.iter().sum::<Duration>() / count
    }

    /// The time that this share (0 to 100) of all changes does not exceed.
    #[must_use]
    pub fn percentile(&self, share: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times.get(last * share.min(100) / 100).copied().unwrap_or_default()
    }
}

/// Changes an object so many times, back and forth, under a client that asks all the time. Every answer is the old
/// one until the first new one, and from then on the new one.
///
/// # Errors
/// When the API server refuses, or a change never comes.
pub async fn measure(stage: &Stage, subject: Subject, changes: usize) -> Result<Figures, Error> {
    let mut toggle = Toggle::begin(stage, subject).await?;
    let mut figures = Figures { times: Vec::with_capacity(changes), answers: 0, wrong: Vec::new() };
    toggle.until(b'0', &mut figures.wrong).await?;
    for change in 1..=changes {
        let side = change % 2;
        toggle.patch(side).await?;
        let acknowledged = Instant::now();
        let letter = if side == 0 { b'0' } else { b'1' };
        let seen = toggle.until(letter, &mut figures.wrong).await?;
        figures.times.push(seen.saturating_duration_since(acknowledged));
        sleep(REST).await;
        while let Ok(turn) = toggle.probe.changes.try_recv() {
            figures.wrong.push(format!("after change {change}: {:?}", turn.said));
        }
    }
    figures.answers = toggle.probe.answers();
    figures.times.sort();
    Ok(figures)
}

/// The object that changes, and the client that sees it.
struct Toggle {
    api: Api<DynamicObject>,
    name: &'static str,
    /// What makes the client see each backend.
    sides: [Value; 2],
    probe: Probe,
}

impl Toggle {
    async fn begin(stage: &Stage, subject: Subject) -> Result<Self, Error> {
        let backends = stage.backends;
        let (name, kind, sides) = match subject {
            Subject::Route => {
                for (service, backend) in ["zero", "one"].into_iter().zip(backends) {
                    stage.create(Kind::Service, [objects::service(service)]).await?;
                    stage.create(Kind::EndpointSlice, [objects::endpoints(service, backend)]).await?;
                }
                stage.create(Kind::HttpRoute, [objects::route("turning", "zero")]).await?;
                let side = |service| json!({"spec": {"rules": objects::rules(service)}});
                ("turning", Kind::HttpRoute, ["zero", "one"].map(side))
            }
            Subject::Endpoints => {
                let [backend, _] = backends;
                stage.create(Kind::Service, [objects::service("moving")]).await?;
                stage.create(Kind::EndpointSlice, [objects::endpoints("moving", backend)]).await?;
                stage.create(Kind::HttpRoute, [objects::route("moving", "moving")]).await?;
                let side = |backend| json!({"ports": objects::ports(backend)});
                ("moving", Kind::EndpointSlice, backends.map(side))
            }
        };
        super::settling::all_settled(stage, super::READY).await?;
        let probe = Probe::start(stage.address, &objects::host(name));
        Ok(Self { api: stage.api(kind).await?, name, sides, probe })
    }

    async fn patch(&self, side: usize) -> Result<(), Error> {
        let patch = self.sides.get(side).unwrap_or(&Value::Null);
        self.api
            .patch(self.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .map(drop)
            .map_err(Error::from)
    }

    /// Waits for this letter; every other turn on the way is wrong.
    async fn until(&mut self, letter: u8, wrong: &mut Vec<String>) -> Result<Instant, Error> {
        let awaited = async {
            while let Some(turn) = self.probe.changes.recv().await {
                if turn.said == Said::Letter(letter) {
                    return Some(turn.at);
                }
                wrong.push(format!("instead of {}: {:?}", char::from(letter), turn.said));
            }
            None
        };
        let never = || Error::Measurement(format!("no answer is ever {}", char::from(letter)));
        timeout(PATIENCE, awaited).await.ok().flatten().ok_or_else(never)
    }
}
