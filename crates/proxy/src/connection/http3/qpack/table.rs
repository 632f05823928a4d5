//! The static table (RFC 9204 Appendix A), and fields written by it.

use std::sync::LazyLock;

use hashbrown::HashMap;

use super::integer;

/// Names and values by index.
const TABLE: [(&str, &str); 99] = [
    (":authority", ""),
    (":path", "/"),
    ("age", "0"),
    ("content-disposition", ""),
    ("content-length", "0"),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("referer", ""),
    ("set-cookie", ""),
    (":method", "CONNECT"),
    (":method", "DELETE"),
    (":method", "GET"),
    (":method", "HEAD"),
    (":method", "OPTIONS"),
    (":method", "POST"),
    (":method", "PUT"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "103"),
    (":status", "200"),
    (":status", "304"),
    (":status", "404"),
    (":status", "503"),
    ("accept", "*/*"),
    ("accept", "application/dns-message"),
    ("accept-encoding", "gzip, deflate, br"),
    ("accept-ranges", "bytes"),
    ("access-control-allow-headers", "cache-control"),
    ("access-control-allow-headers", "content-type"),
    ("access-control-allow-origin", "*"),
    ("cache-control", "max-age=0"),
    ("cache-control", "max-age=2592000"),
    ("cache-control", "max-age=604800"),
    ("cache-control", "no-cache"),
    ("cache-control", "no-store"),
    ("cache-control", "public, max-age=31536000"),
    ("content-encoding", "br"),
    ("content-encoding", "gzip"),
    ("content-type", "application/dns-message"),
    ("content-type", "application/javascript"),
    ("content-type", "application/json"),
    ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "image/gif"),
    ("content-type", "image/jpeg"),
    ("content-type", "image/png"),
    ("content-type", "text/css"),
    ("content-type", "text/html; charset=utf-8"),
    ("content-type", "text/plain"),
    ("content-type", "text/plain;charset=utf-8"),
    ("range", "bytes=0-"),
    ("strict-transport-security", "max-age=31536000"),
    ("strict-transport-security", "max-age=31536000; includesubdomains"),
    ("strict-transport-security", "max-age=31536000; includesubdomains; preload"),
    ("vary", "accept-encoding"),
    ("vary", "origin"),
    ("x-content-type-options", "nosniff"),
    ("x-xss-protection", "1; mode=block"),
    (":status", "100"),
    (":status", "204"),
    (":status", "206"),
    (":status", "302"),
    (":status", "400"),
    (":status", "403"),
    (":status", "421"),
    (":status", "425"),
    (":status", "500"),
    ("accept-language", ""),
    ("access-control-allow-credentials", "FALSE"),
    ("access-control-allow-credentials", "TRUE"),
    ("access-control-allow-headers", "*"),
    ("access-control-allow-methods", "get"),
    ("access-control-allow-methods", "get, post, options"),
    ("access-control-allow-methods", "options"),
    ("access-control-expose-headers", "content-length"),
    ("access-control-request-headers", "content-type"),
    ("access-control-request-method", "get"),
    ("access-control-request-method", "post"),
    ("alt-svc", "clear"),
    ("authorization", ""),
    ("content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"),
    ("early-data", "1"),
    ("expect-ct", ""),
    ("forwarded", ""),
    ("if-range", ""),
    ("origin", ""),
    ("purpose", "prefetch"),
    ("server", ""),
    ("timing-allow-origin", "*"),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", ""),
    ("x-forwarded-for", ""),
    ("x-frame-options", "deny"),
    ("x-frame-options", "sameorigin"),
];

/// The field of an index.
pub(super) fn field(index: u64) -> Option<(&'static [u8], &'static [u8])> {
    let (name, value) = TABLE.get(usize::try_from(index).ok()?)?;
    Some((name.as_bytes(), value.as_bytes()))
}

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The indexes of each name.
static NAMES: LazyLock<Map<&'static [u8], Vec<usize>>> = LazyLock::new(|| {
    let mut names: Map<&[u8], Vec<usize>> = Map::default();
    for (index, (name, _)) in TABLE.iter().enumerate() {
        names.entry(name.as_bytes()).or_default().push(index);
    }
    names
});

/// Writes a field line (RFC 9204 §4.5.2, §4.5.4, §4.5.6), as short as it is without a Huffman code. Names are lower case.
pub(in super::super) fn write_field(into: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let indexes = NAMES.get(name).map(Vec::as_slice).unwrap_or_default();
    let is_whole = |index: &&usize| TABLE.get(**index).is_some_and(|(_, known)| known.as_bytes() == value);
    match (indexes.iter().find(is_whole), indexes.first()) {
        (Some(index), _) => return integer::write(into, 0b1100_0000, 6, *index),
        (None, Some(index)) => integer::write(into, 0b0101_0000, 4, *index),
        (None, None) => {
            integer::write(into, 0b0010_0000, 3, name.len());
            into.extend_from_slice(name);
        }
    }
    integer::write(into, 0, 7, value.len());
    into.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_by_index_where_they_have_one() {
        for (name, value, expected) in [
            ("vary", "origin", &b"\xfc"[..]),
            (":status", "200", b"\xd9"),
            (":status", "418", b"\x5f\x09\x03418"),
            ("x-a", "b", b"\x23x-a\x01b"),
        ] {
            let mut written = Vec::new();
            write_field(&mut written, name.as_bytes(), value.as_bytes());
            assert_eq!(written, expected, "{name}: {value}");
        }
    }
}
