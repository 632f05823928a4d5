//! What is known: objects and engine reports in memory, with their indexes.
//!
//! The store holds and finds; it never judges. One thread owns it, a snapshot is a `&Store` between two
//! calls of [`Store::apply`], and one change among 10,000 objects costs the logarithm of its buckets' sizes.
//!
//! Read in this order: [`Store`] (what it answers), [`Change`] and [`ChangeSet`] (what goes in, and what has
//! then changed), [`Bucket`] (by what objects are found), [`Report`] (what engines say back).
//!
//! Whoever computes from a store and wants to know when to compute again notes what it read: an
//! [`ObjectKey`] (found *or* missed), a [`Bucket`], a [`ReportKey`]. The computation is stale if and only if
//! a later [`ChangeSet`] names one of them.
#![forbid(unsafe_code)]

mod bucket;
mod change;
mod index;
mod references;
mod report;
mod store;
#[cfg(test)]
mod tests;

pub use bucket::{Bucket, By};
pub use change::{Change, ChangeSet};
pub use references::{SERVICE_NAME, each_target};
pub use report::{
    AncestorEntry, BindFailure, BindOutcome, BindPoint, PublishedAddress, Refusal, Report, ReportKey,
    Transport,
};
pub use store::Store;

pub use portcullis_api::{Kind, Object, ObjectKey};
