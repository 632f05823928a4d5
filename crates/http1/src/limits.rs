//! Every limit of the codec, with its unit, default and reason.

/// Limits on one head: the start line and the fields, or a trailer section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of the whole block: start line, fields, and the empty line. 1 to 2³² − 1; a larger value counts as
    /// that. Default [`HeadLimits::BLOCK`].
    pub block: usize,
    /// Number of field lines. Default [`HeadLimits::FIELDS`].
    pub fields: usize,
}

impl HeadLimits {
    /// 64 KiB, in bytes: the same for every HTTP version, and room for the large cookies seen in practice.
    pub const BLOCK: usize = 64 * 1024;
    /// 256 field lines: HTTP/2 clients split cookies into a field line each, so a tighter limit meets honest
    /// requests.
    pub const FIELDS: usize = 256;

    /// The block limit, never more than spans can address.
    pub(crate) fn block_bytes(self) -> usize {
        self.block.min(u32::MAX as usize)
    }
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { block: Self::BLOCK, fields: Self::FIELDS }
    }
}

/// Limits on chunked framing beside those of its trailer section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Bytes of extensions in one chunk's line. Default [`ChunkLimits::EXTENSIONS`].
    pub extensions: usize,
    /// Bytes of extensions in the whole body. Default [`ChunkLimits::TOTAL_EXTENSIONS`].
    pub total_extensions: usize,
    /// The trailer section.
    pub trailers: HeadLimits,
}

impl ChunkLimits {
    /// 256 bytes: extensions are hardly ever used, and are dropped (RFC 9112 §7.1.1 asks for a bound).
    pub const EXTENSIONS: usize = 256;
    /// 16 KiB: one-byte chunks with long extensions must not make a sender's work cheap and ours dear.
    pub const TOTAL_EXTENSIONS: usize = 16 * 1024;
    /// 16 hexadecimal digits hold any `u64`; more could only be leading zeros, which no sender needs.
    pub(crate) const SIZE_DIGITS: u8 = 16;
}

impl Default for ChunkLimits {
    fn default() -> Self {
        Self {
            extensions: Self::EXTENSIONS,
            total_extensions: Self::TOTAL_EXTENSIONS,
            trailers: HeadLimits::default(),
        }
    }
}
