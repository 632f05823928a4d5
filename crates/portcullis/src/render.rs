//! Findings and statuses as people and programs read them.

mod diagnostics;
mod paint;
mod sarif;
mod statuses;

pub(crate) use diagnostics::{diagnostics_json, diagnostics_text, tally};
pub(crate) use paint::Paint;
pub(crate) use sarif::sarif;
pub(crate) use statuses::{Item, is_good, statuses_json, statuses_text};
