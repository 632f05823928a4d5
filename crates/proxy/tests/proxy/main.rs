//! The data plane on loopback sockets, with hand-built models: no Kubernetes object, no library for HTTP.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod auth;
mod auth_grpc;
mod client_certificates;
mod configuration;
mod cors;
mod forwarding;
mod grpc;
mod health;
mod hosts;
mod http2;
mod http2_upstream;
mod http3;
mod hygiene;
mod listener_filters;
mod mirror;
mod paths;
mod retry;
mod shares;
mod smuggling;
mod support;
mod tcp;
mod timeouts;
mod tls;
mod tls_routes;
mod udp;
mod upstream_tls;
mod websocket_streams;
