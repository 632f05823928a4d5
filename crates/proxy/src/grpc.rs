//! What gRPC clients are told where others get a status of HTTP.

/// The statuses of HTTP and of gRPC with which a gRPC call is answered that any other request would get this status
/// for, an error.
///
/// Source: docs/semantics.md; beside that "HTTP to gRPC Status Code Mapping" of gRPC. 421 stays, for it is about the
/// connection: a client that knows it tries again on another one.
#[must_use]
pub const fn grpc_answer(status: u16) -> (u16, u8) {
    const INTERNAL: u8 = 13;
    const UNAUTHENTICATED: u8 = 16;
    const PERMISSION_DENIED: u8 = 7;
    const UNIMPLEMENTED: u8 = 12;
    const DEADLINE_EXCEEDED: u8 = 4;
    const RESOURCE_EXHAUSTED: u8 = 8;
    const UNAVAILABLE: u8 = 14;
    const UNKNOWN: u8 = 2;
    match status {
        400 => (200, INTERNAL),
        401 => (200, UNAUTHENTICATED),
        403 => (200, PERMISSION_DENIED),
        404 | 501 => (200, UNIMPLEMENTED),
        408 | 504 => (200, DEADLINE_EXCEEDED),
        413 | 431 => (200, RESOURCE_EXHAUSTED),
        421 => (421, UNAVAILABLE),
        429 | 500 | 502 | 503 => (200, UNAVAILABLE),
        _ => (200, UNKNOWN),
    }
}
