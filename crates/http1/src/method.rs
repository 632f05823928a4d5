//! Request methods.

/// A request method, for decisions; the bytes as received are kept by the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// GET
    #[default]
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
    /// CONNECT
    Connect,
    /// OPTIONS
    Options,
    /// TRACE
    Trace,
    /// PATCH (RFC 5789)
    Patch,
    /// Any other token.
    Other,
}

impl Method {
    /// The method with this name; methods are case-sensitive (RFC 9110 §9.1).
    #[must_use]
    pub fn from_bytes(name: &[u8]) -> Self {
        match name {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"CONNECT" => Self::Connect,
            b"OPTIONS" => Self::Options,
            b"TRACE" => Self::Trace,
            b"PATCH" => Self::Patch,
            _ => Self::Other,
        }
    }

    /// RFC 9110 §9.2.2: whether doing it twice is as good as once, so that a request may be sent again.
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Put | Self::Delete | Self::Options | Self::Trace)
    }
}
