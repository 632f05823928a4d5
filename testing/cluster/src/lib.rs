//! A Kubernetes cluster on one machine, for tests and for first tries: a real control plane, whose
//! pods a node of ours runs as processes. Needs Linux, root, iproute2 and Go.
//!
//! Everything of a cluster lives in a network namespace and a folder of its own ([`network`],
//! [`state`]), so that clusters run side by side and nothing stays behind, even after a crash: whoever
//! starts a cluster removes those whose owner is gone.
//!
//! Read in this order: [`cluster`] (starting, reaching and disturbing one), [`control_plane`] (the
//! upstream programs and their command lines), [`node`] (the node that runs pods as processes), [`bundle`]
//! (the Gateway API's CRDs), [`network`], [`controller`] (Portcullis in a cluster), [`audit`] and
//! [`rights`] (what it asks there, and may), [`conformance`] (the official
//! suite there), [`mod@bench`] (what is measured there).
#![forbid(unsafe_code)]

pub mod audit;
pub mod bench;
pub mod bundle;
mod certificates;
pub mod cluster;
pub mod conformance;
pub mod control_plane;
pub mod controller;
mod error;
mod kubeconfig;
pub mod network;
pub mod node;
mod node_program;
mod privileges;
mod processes;
mod programs;
pub mod rights;
pub mod state;

pub use bundle::{Bundle, Channel};
pub use cluster::{Cluster, Options};
pub use error::Error;
pub use privileges::is_possible;
