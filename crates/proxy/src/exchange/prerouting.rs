//! What a listener does with every request before a rule is looked for.
//!
//! Source: `Gateway.spec.listeners.filters.requests`: the filters run in the order of the list, and rules are matched once,
//! on what they leave. They leave the host (what they are told to make of it has no effect), so the listener stays.

use super::{Downstream, Failed, Surroundings, auth, route};
use crate::scratch::Scratch;
use crate::tables::{Prerouting, ServedPort};
use crate::telemetry::Record;

/// Runs the filters. False if one of them has answered.
pub(super) async fn run<D: Downstream>(
    around: &Surroundings<'_>,
    served: &ServedPort,
    scratch: &mut Scratch,
    down: &mut D,
    record: &mut Record,
) -> Result<bool, Failed> {
    let listener = route::enter(around, &mut scratch.request, record)?;
    match served.preroutings.of(listener) {
        None => Ok(true),
        Some(Prerouting::Fail(refusal)) => Err(refusal.into()),
        Some(Prerouting::Ask(asks)) => {
            for ask in asks {
                if !auth::ask(around, scratch, down, record, ask).await? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}
