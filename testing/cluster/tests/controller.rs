//! The controller against a real API server: what it says, when it writes, and what it makes of faults.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "controller/audit.rs"]
mod audit;
#[path = "controller/certificates.rs"]
mod certificates;
#[path = "controller/churn.rs"]
mod churn;
#[path = "controller/client.rs"]
mod client;
#[path = "controller/definitions.rs"]
mod definitions;
#[path = "controller/flood.rs"]
mod flood;
#[path = "controller/grants.rs"]
mod grants;
#[path = "controller/leaders.rs"]
mod leaders;
#[path = "controller/listener_filters.rs"]
mod listener_filters;
#[path = "controller/many.rs"]
mod many;
#[path = "controller/outages.rs"]
mod outages;
#[path = "controller/quickstart.rs"]
mod quickstart;
#[path = "controller/quiet.rs"]
mod quiet;
#[path = "controller/releases.rs"]
mod releases;
#[path = "controller/restarts.rs"]
mod restarts;
#[path = "controller/rights.rs"]
mod rights;
#[path = "controller/rivals.rs"]
mod rivals;
#[path = "controller/routability.rs"]
mod routability;
#[path = "controller/site.rs"]
mod site;
#[path = "controller/stage.rs"]
mod stage;
#[path = "controller/trust_bundles.rs"]
mod trust_bundles;
#[path = "controller/tunnels.rs"]
mod tunnels;
#[path = "controller/verbs.rs"]
mod verbs;
