//! The messages of `envoy.service.auth.v3.Authorization`, as far as they are spoken here.
//!
//! Source: Envoy's `service/auth/v3/{external_auth,attribute_context}.proto`, `config/core/v3/{address,base}.proto`.

use std::collections::BTreeMap;

/// What is asked: `CheckRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) attributes: Option<AttributeContext>,
}

/// `AttributeContext`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    pub(super) source: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    pub(super) request: Option<AskedRequest>,
}

/// `AttributeContext.Peer`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Peer {
    #[prost(message, optional, tag = "1")]
    pub(super) address: Option<Address>,
}

/// `config.core.v3.Address`, a socket's.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Address {
    #[prost(message, optional, tag = "1")]
    pub(super) socket_address: Option<SocketAddress>,
}

/// `config.core.v3.SocketAddress`, over TCP.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SocketAddress {
    #[prost(string, tag = "2")]
    pub(super) address: String,
    #[prost(uint32, tag = "3")]
    pub(super) port: u32,
}

/// `AttributeContext.Request`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AskedRequest {
    #[prost(message, optional, tag = "2")]
    pub(super) http: Option<HttpRequest>,
}

/// `AttributeContext.HttpRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HttpRequest {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(string, tag = "2")]
    pub(super) method: String,
    /// By name in lower case; fields of one name are joined by commas.
    #[prost(btree_map = "string, string", tag = "3")]
    pub(super) headers: BTreeMap<String, String>,
    /// With the query.
    #[prost(string, tag = "4")]
    pub(super) path: String,
    #[prost(string, tag = "5")]
    pub(super) host: String,
    #[prost(string, tag = "6")]
    pub(super) scheme: String,
    /// The body's length, -1 if that is not known.
    #[prost(int64, tag = "9")]
    pub(super) size: i64,
    #[prost(string, tag = "10")]
    pub(super) protocol: String,
    /// A body that is text.
    #[prost(string, tag = "11")]
    pub(super) body: String,
    /// Another.
    #[prost(bytes = "bytes", tag = "12")]
    pub(super) raw_body: bytes::Bytes,
}

/// What is answered: `CheckResponse`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, optional, tag = "2")]
    pub(super) denied: Option<Denied>,
    #[prost(message, optional, tag = "3")]
    pub(super) granted: Option<Granted>,
}

/// `google.rpc.Status`; 0 lets the request pass.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Status {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
}

/// `DeniedHttpResponse`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Denied {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    pub(super) headers: Vec<HeaderOption>,
    #[prost(string, tag = "3")]
    pub(super) body: String,
}

/// `type.v3.HttpStatus`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HttpStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
}

/// `OkHttpResponse`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Granted {
    #[prost(message, repeated, tag = "2")]
    pub(super) headers: Vec<HeaderOption>,
    #[prost(string, repeated, tag = "5")]
    pub(super) headers_to_remove: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub(super) response_headers_to_add: Vec<HeaderOption>,
    #[prost(message, repeated, tag = "7")]
    pub(super) query_parameters_to_set: Vec<QueryParameter>,
    #[prost(string, repeated, tag = "8")]
    pub(super) query_parameters_to_remove: Vec<String>,
}

/// `config.core.v3.QueryParameter`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct QueryParameter {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

/// `config.core.v3.HeaderValueOption`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HeaderOption {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    /// Goes before `append_action`.
    #[prost(message, optional, tag = "2")]
    pub(super) append: Option<Flag>,
    #[prost(enumeration = "AppendAction", tag = "3")]
    pub(super) append_action: i32,
}

/// `config.core.v3.HeaderValueOption.HeaderAppendAction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
pub(super) enum AppendAction {
    AppendIfExistsOrAdd = 0,
    AddIfAbsent = 1,
    OverwriteIfExistsOrAdd = 2,
    OverwriteIfExists = 3,
}

/// `config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Header {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) raw_value: Vec<u8>,
}

/// `google.protobuf.BoolValue`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Flag {
    #[prost(bool, tag = "1")]
    pub(super) value: bool,
}
