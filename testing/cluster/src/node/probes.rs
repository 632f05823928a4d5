//! Probes: is a container started, ready, alive?

mod asking;
mod http;
mod streak;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Probe};
use tokio::{sync::mpsc::UnboundedSender, time};

pub(crate) use asking::Target;
use streak::Streak;

/// The shortest period and time limit (`Probe.periodSeconds`, `Probe.timeoutSeconds`).
const SHORTEST: Duration = Duration::from_secs(1);

/// What probes say of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Its startup probe succeeded, or it has none.
    Started,
    /// Its readiness changed.
    Ready(bool),
    /// It is to be restarted.
    Unhealthy(String),
}

/// Probes a container for as long as it is polled.
pub(crate) async fn probe(container: &Container, target: &Target, findings: &UnboundedSender<Finding>) {
    let say = |finding| _ = findings.send(finding); // nobody listens only when the container has ended
    if let Some(startup) = &container.startup_probe
        && let Err(message) = verdicts(startup, target, |_| true).await
    {
        return say(Finding::Unhealthy(format!("startup probe: {message}")));
    }
    say(Finding::Started);
    let readiness = async {
        let Some(readiness) = &container.readiness_probe else {
            return say(Finding::Ready(true));
        };
        let tell = |verdict: &Answer| {
            say(Finding::Ready(verdict.is_ok()));
            false
        };
        _ = verdicts(readiness, target, tell).await; // goes on for ever
    };
    let liveness = async {
        let Some(liveness) = &container.liveness_probe else { return };
        if let Err(message) = verdicts(liveness, target, Answer::is_err).await {
            say(Finding::Unhealthy(format!("liveness probe: {message}")));
        }
    };
    futures::join!(readiness, liveness);
}

/// What one probe, or enough of them in a row, say: nothing to complain of, or what is wrong.
type Answer = Result<(), String>;

/// Makes a probe again and again, and tells of each verdict until one is enough, which it gives.
async fn verdicts(probe: &Probe, target: &Target, mut enough: impl FnMut(&Answer) -> bool) -> Answer {
    let number =
        |value: Option<i32>, default| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(default);
    let seconds = |value, default| Duration::from_secs(number(value, default).into());
    time::sleep(seconds(probe.initial_delay_seconds, 0)).await;
    let mut streak = Streak::new(number(probe.success_threshold, 1), number(probe.failure_threshold, 3));
    let mut rounds = time::interval(seconds(probe.period_seconds, 10).max(SHORTEST));
    rounds.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let limit = seconds(probe.timeout_seconds, 1).max(SHORTEST);
    loop {
        rounds.tick().await;
        let answer = time::timeout(limit, target.ask(probe)).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())));
        if streak.record(answer.is_ok()) && enough(&answer) {
            return answer;
        }
    }
}
