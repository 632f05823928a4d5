//! The referee of admission: what the API server's own code says about an object, asked through
//! the Go program in `testing/admission`, and the objects that are put before it.
//!
//! Read in this order: [`referee`] (asking), [`crd`] (what there is to break: every limit and rule
//! of the CRDs), the three sources of objects, [`cases`] (hand-written tables), [`limits`]
//! (generated from the schemas) and [`mutations`] (seeded), and [`coverage`], which says what was
//! never broken. [`agreement`] compares answers with portcullis-api's; `tests/` asks the referee, and an API
//! server too.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

pub mod agreement;
pub mod cases;
pub mod coverage;
pub mod crd;
pub mod go;
pub mod limits;
pub mod mutations;
pub mod path;
pub mod referee;

pub use referee::{Cause, Referee, Verdict};
