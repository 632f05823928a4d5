//! What can be wrong with a message, and what to answer.

use thiserror::Error;

/// Why a head was refused.
///
/// After any of these an HTTP/1 connection cannot be trusted to be in step and must be closed; on HTTP/2 and 3 only
/// the stream ends, since framing there does not depend on the head. For a response from an upstream the answer
/// is 502 whatever [`HeadError::status`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum HeadError {
    /// RFC 9112 §2.2: a line ended by LF alone.
    #[error("a line ends with LF without CR")]
    BareLf,
    /// RFC 9112 §2.2: CR that is not followed by LF.
    #[error("CR without LF within a line")]
    BareCr,
    /// RFC 9112 §2.2: more than one empty line before the start line.
    #[error("more than one empty line before the start line")]
    LeadingEmptyLines,
    /// RFC 9112 §3: not `method SP request-target SP HTTP-version`.
    #[error("malformed request line")]
    RequestLine,
    /// RFC 9110 §9.1: the method is not a token.
    #[error("method is not a token")]
    Method,
    /// RFC 9112 §3.2: the request target has none of the four forms, or not the one its method asks for.
    #[error("malformed request target")]
    Target,
    /// RFC 9112 §3.2: a character that the request target may not hold.
    #[error("invalid character in the request target")]
    TargetCharacter,
    /// RFC 9110 §4.2.4: user information in an authority.
    #[error("user information in the authority")]
    Userinfo,
    /// RFC 9110 §4.2: the scheme of an absolute target is neither http nor https.
    #[error("scheme is neither http nor https")]
    Scheme,
    /// The request line alone is over the limit for heads.
    #[error("request line too long")]
    TargetTooLong,
    /// RFC 9112 §2.3: the version is not `HTTP/` DIGIT `.` DIGIT.
    #[error("malformed HTTP version")]
    Version,
    /// RFC 9110 §15.6.6: a version that is not spoken here.
    #[error("HTTP version not supported")]
    UnsupportedVersion,
    /// RFC 9112 §4: not `HTTP-version SP 3DIGIT SP [ reason-phrase ]`.
    #[error("malformed status line")]
    StatusLine,
    /// RFC 9112 §5: a field line without a colon.
    #[error("field line without a colon")]
    FieldLine,
    /// RFC 9110 §5.1: a field name that is not a token.
    #[error("field name is not a token")]
    FieldName,
    /// RFC 9112 §5.1: white space between field name and colon.
    #[error("white space before the colon of a field")]
    SpaceBeforeColon,
    /// RFC 9112 §5.2: a folded field line, or white space before the first field (§2.2).
    #[error("field line begins with white space")]
    ObsFold,
    /// RFC 9110 §5.5: a control character in a field value.
    #[error("control character in a field value")]
    FieldValue,
    /// RFC 9113 §8.2.1: a field value of HTTP/2 or 3 that begins or ends with white space.
    #[error("white space around a field value")]
    FieldValueSpace,
    /// RFC 9110 §5.5: NUL.
    #[error("NUL in the head")]
    Nul,
    /// RFC 6585 §5: the header block is over its limit in bytes.
    #[error("header block over the limit")]
    BlockTooLarge,
    /// RFC 6585 §5: too many field lines.
    #[error("too many fields")]
    TooManyFields,
    /// RFC 9112 §3.2: an HTTP/1.1 request without Host, or a request of a later version without authority.
    #[error("no Host")]
    MissingHost,
    /// RFC 9112 §3.2: two Host fields.
    #[error("more than one Host")]
    RepeatedHost,
    /// RFC 9110 §7.2: Host or authority is not `uri-host [ ":" port ]`.
    #[error("malformed Host")]
    Host,
    /// RFC 9113 §8.3.1: Host differs from `:authority`.
    #[error("Host differs from :authority")]
    AuthorityMismatch,
    /// RFC 9113 §8.3: a pseudo-field among the fields, or a missing or malformed one.
    #[error("invalid pseudo-header field")]
    PseudoField,
    /// RFC 9113 §8.2.2: a field of one connection on HTTP/2 or 3.
    #[error("connection-specific field in a multiplexed protocol")]
    ConnectionField,
    /// RFC 9110 §8.6: a Content-Length that is not one decimal number.
    #[error("malformed Content-Length")]
    ContentLength,
    /// RFC 9112 §6.3: more than one Content-Length, be they equal or not.
    #[error("more than one Content-Length")]
    RepeatedContentLength,
    /// RFC 9112 §6.3: both Content-Length and Transfer-Encoding.
    #[error("both Content-Length and Transfer-Encoding")]
    ConflictingFraming,
    /// RFC 9112 §6.1: a Transfer-Encoding other than exactly `chunked`.
    #[error("Transfer-Encoding is not exactly chunked")]
    TransferEncoding,
    /// RFC 9112 §6.1: Transfer-Encoding in HTTP/1.0.
    #[error("Transfer-Encoding in HTTP/1.0")]
    TransferEncodingInHttp10,
    /// RFC 9110 §15.2.2, §7.8: a 101 that was not asked for, or to another protocol than asked for.
    #[error("protocol switch that was not asked for")]
    UnexpectedSwitch,
}

impl HeadError {
    /// The status to answer a request with.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::BlockTooLarge | Self::TooManyFields => 431,
            Self::TargetTooLong => 414,
            Self::UnsupportedVersion => 505,
            _ => 400,
        }
    }

    /// A short name that stays the same between releases, for metrics and logs.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::BareLf => "bare_lf",
            Self::BareCr => "bare_cr",
            Self::LeadingEmptyLines => "leading_empty_lines",
            Self::RequestLine => "request_line",
            Self::Method => "method",
            Self::Target => "target",
            Self::TargetCharacter => "target_character",
            Self::Userinfo => "userinfo",
            Self::Scheme => "scheme",
            Self::TargetTooLong => "target_too_long",
            Self::Version => "version",
            Self::UnsupportedVersion => "unsupported_version",
            Self::StatusLine => "status_line",
            Self::FieldLine => "field_line",
            Self::FieldName => "field_name",
            Self::SpaceBeforeColon => "space_before_colon",
            Self::ObsFold => "obs_fold",
            Self::FieldValue => "field_value",
            Self::FieldValueSpace => "field_value_space",
            Self::Nul => "nul",
            Self::BlockTooLarge => "block_too_large",
            Self::TooManyFields => "too_many_fields",
            Self::MissingHost => "missing_host",
            Self::RepeatedHost => "repeated_host",
            Self::Host => "host",
            Self::AuthorityMismatch => "authority_mismatch",
            Self::PseudoField => "pseudo_field",
            Self::ConnectionField => "connection_field",
            Self::ContentLength => "content_length",
            Self::RepeatedContentLength => "repeated_content_length",
            Self::ConflictingFraming => "conflicting_framing",
            Self::TransferEncoding => "transfer_encoding",
            Self::TransferEncodingInHttp10 => "transfer_encoding_http10",
            Self::UnexpectedSwitch => "unexpected_switch",
        }
    }
}

/// Why a body could not be read. The connection must be closed: where the next message begins is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum BodyError {
    /// RFC 9112 §7.1: the chunk size is not `1*HEXDIG`.
    #[error("malformed chunk size")]
    ChunkSize,
    /// RFC 9112 §7.1: the chunk size does not fit in 64 bits.
    #[error("chunk size over 64 bits")]
    ChunkSizeOverflow,
    /// RFC 9112 §7.1.1: a malformed chunk extension.
    #[error("malformed chunk extension")]
    ChunkExtension,
    /// RFC 9112 §7.1.1: chunk extensions over the limit.
    #[error("chunk extensions over the limit")]
    ChunkExtensionsTooLarge,
    /// RFC 9112 §7.1: chunk line or data not ended by CRLF.
    #[error("chunk not ended by CRLF")]
    ChunkEnd,
    /// RFC 9112 §7.1.2: an invalid trailer section.
    #[error("invalid trailer: {0}")]
    Trailer(HeadError),
    /// RFC 9112 §8: the connection ended before the body did.
    #[error("body ended early")]
    Incomplete,
}

impl BodyError {
    /// The status to answer a request with, where an answer is still possible.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Trailer(cause) => cause.status(),
            _ => 400,
        }
    }

    /// A short name that stays the same between releases, for metrics and logs.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::ChunkSize => "chunk_size",
            Self::ChunkSizeOverflow => "chunk_size_overflow",
            Self::ChunkExtension => "chunk_extension",
            Self::ChunkExtensionsTooLarge => "chunk_extensions_too_large",
            Self::ChunkEnd => "chunk_end",
            Self::Trailer(_) => "trailer",
            Self::Incomplete => "body_incomplete",
        }
    }
}
