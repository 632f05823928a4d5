//! Resource types and admission: what users write, and what an API server would say about it.
//!
//! Pure: no I/O. One Rust type per kind, read from every served version of the kind; enumerations
//! are open, lists default to empty, and what has a form of its own (host names, ports, durations)
//! has a type of its own.
//!
//! Read in this order: [`kind`] and [`names`] (what there is and how it is named), [`gateway`],
//! [`listener`] and [`http_route`] (the types that matter most), [`object`] (one of any kind),
//! [`diagnostic`] (how findings are said), [`admission`] (from JSON to an object, with every
//! finding an API server with the upstream CRDs would have).
#![forbid(unsafe_code)]

pub mod admission;
pub mod backend;
pub mod backend_tls_policy;
mod cel;
pub mod cors;
pub mod diagnostic;
pub mod duration;
pub mod external_auth;
pub mod field_path;
pub mod gateway;
pub mod gateway_class;
pub mod grpc_route;
pub mod header;
pub mod hostname;
pub mod http_filter;
pub mod http_route;
pub mod kind;
pub mod l4_route;
pub mod label_selector;
pub mod listener;
pub mod listener_set;
pub mod names;
pub mod object;
mod patterns;
pub mod port;
pub mod reference_grant;
pub mod references;
mod resource;
pub mod route;
mod schema;
pub mod secret;
pub mod session_persistence;
pub mod spelling;
pub mod status;
mod text;
pub mod tls_route;

pub use admission::{Admitted, admit, admit_stored};
pub use diagnostic::{Diagnostic, Position, Rule, Severity};
pub use field_path::FieldPath;
pub use kind::Kind;
pub use names::ObjectKey;
pub use object::Object;
pub use resource::Resource;
pub use schema::{Constraint, ReadError, constraints};
pub use text::InvalidText;

pub use k8s_openapi;
