//! Frames of HTTP/2 by hand (RFC 9113 §4.1, §6).

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The first bytes of a client (RFC 9113 §3.4), with empty SETTINGS.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A frame: type, flags, stream, payload.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The fields of a request, in HPACK: `:method`, `:scheme: http`, `:path`, `:authority: a`.
pub(crate) fn request(method: &str, path: &str) -> Vec<u8> {
    let mut block = literal(2, method);
    block.push(0x86);
    block.extend(literal(4, path));
    block.extend(literal(1, "a"));
    block
}

/// A field that is not indexed, its name by its place in the static table (RFC 7541 §6.2.2).
fn literal(name: u8, value: &str) -> Vec<u8> {
    [&[name, u8::try_from(value.len()).unwrap()], value.as_bytes()].concat()
}
