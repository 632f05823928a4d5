//! What operators see: counters, the access log and the admin endpoint.

mod access_log;
pub(crate) mod admin;
mod clock;
pub(crate) mod endpoints;
mod exposition;
mod metrics;
mod record;
mod request_id;
mod session;
mod session_lines;

pub(crate) use access_log::AccessLog;
pub(crate) use clock::http_date;
pub(crate) use metrics::WorkerMetrics;
pub(crate) use record::{Record, Summary};
pub(crate) use request_id::RequestId;
pub(crate) use session::{Session, SessionRecord};
