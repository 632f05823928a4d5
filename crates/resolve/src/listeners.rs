//! Listeners: which live, what they serve with, and what is said about them.
//!
//! A listener goes through these steps: [`declared`] (what it says, and what of its own refuses it),
//! [`judgement`] by the rule in [`claim`] (which of those that share a port stay), [`certificates`](crate::certificates),
//! [`filters`] (what runs on every request) and the engine's reports ([`state`]), [`overlap`], and at last [`status`] and [`served`].

mod claim;
mod decisions;
mod declared;
mod filters;
mod judgement;
mod kinds;
mod overlap;
mod overlaps;
mod served;
mod state;
mod status;
mod withheld;

pub use claim::Protocol;
pub(crate) use decisions::{Decision, Decisions};
pub(crate) use declared::{Declared, DeclaredListeners, parent_of};
pub(crate) use filters::ListenerClusters;
pub(crate) use served::Ports;
pub(crate) use state::{ListenerState, ListenerStates, Programmed};
pub(crate) use status::{findings, statuses};
