//! What the specs of all routes have in common.

/// Parents per route, at most.
pub const MAX_PARENTS: usize = 32;
/// Host names per HTTPRoute or GRPCRoute, at most.
pub const MAX_HOSTNAMES: usize = 16;
/// Rules per route, at most.
pub const MAX_RULES: usize = 16;
/// Matches per rule, at most.
pub const MAX_MATCHES: usize = 64;
/// Filters per rule or backend, at most.
pub const MAX_FILTERS: usize = 16;
/// Backends per rule, at most.
pub const MAX_BACKENDS: usize = 16;
