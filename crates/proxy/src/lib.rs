//! The native data plane: it serves a [`portcullis_model::Model`] over HTTP, HTTPS and HTTP/3.
//!
//! A thread per core, each with its own runtime, sockets and upstream connections; nothing on a request's path takes
//! a lock or writes what another thread reads. A configuration is compiled once, off that path, and swapped in
//! place: no open connection notices.
//!
//! Read in this order: [`Proxy`] and [`ProxyHandle`] (starting, configuring, draining), `control` and `worker` (the
//! threads), `tables` (a model compiled), `listen` and `connection` (from a socket to a request), `exchange` (a
//! request and its answer), `l4` (connections that carry no requests), `quic` (where HTTP/3 comes from), `upstream` (backends), `tls`, `telemetry`; and [`Limits`], which bound all of it.
#![forbid(unsafe_code)]

mod budget;
mod buffers;
mod clock;
mod connection;
mod control;
mod error;
mod exchange;
mod filters;
mod grpc;
mod http2;
mod l4;
mod limits;
mod listen;
mod options;
mod proxy;
mod quic;
mod reason;
mod scratch;
mod shared;
mod stream;
mod tables;
mod telemetry;
mod timer;
mod tls;
mod tunnel;
mod upstream;
mod view;
mod worker;

pub use clock::Clock;
pub use connection::http3::{Http3Part, http3_head, http3_parts, http3_trailers};
pub use filters::{CompiledRedirect, RedirectPortTooHigh, rewritten};
pub use grpc::grpc_answer;
pub use l4::udp::{Begun, FlowTable, FlowsFull};
pub use l4::{ClientHello, ClientHelloReader, NoClientHello};
pub use limits::{Bytes, LimitError, LimitInfo, LimitValue, Limits};
pub use listen::bind::BindFailure;
pub use listen::inherited::Inherited;
pub use options::{AccessLogFormat, AccessLogOptions, Drain, ProxyOptions, default_workers};
pub use proxy::{Proxy, ProxyHandle, Report, StartError};
pub use reason::Reason;
pub use telemetry::endpoints::{EndpointsReport, ReportedBackend, ReportedEndpoint};
