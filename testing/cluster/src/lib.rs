//! A Kubernetes cluster on one machine, for tests and for first tries: a real control plane, whose
//! pods a node of ours runs as processes. Needs Linux, root and Go.
//!
//! Read in this order: [`node`] (the node that runs pods as processes).
#![forbid(unsafe_code)]

pub mod node;
