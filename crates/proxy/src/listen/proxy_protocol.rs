//! The PROXY protocol, versions 1 and 2: who a load balancer in front speaks for.
//!
//! Source: the PROXY protocol specification (HAProxy, 2020/03/05). Ports that expect the header refuse connections
//! without it: otherwise any client could claim any address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest line of version 1, CRLF included.
const V1_MAX: usize = 107;
/// The longest header of version 2 that we take: addresses and a kilobyte or so of TLVs.
const V2_MAX: usize = 2048;

/// What is known of a header after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// More bytes are needed.
    Partial,
    /// There is none, or it is malformed.
    Invalid,
    /// It took this many bytes. The address is none if the balancer speaks for itself (health checks).
    Complete { len: usize, client: Option<SocketAddr> },
}

/// Reads a header from the beginning of a connection.
pub(crate) fn parse(input: &[u8]) -> Header {
    let signature = V2_SIGNATURE.get(..input.len().min(V2_SIGNATURE.len())).unwrap_or_default();
    if !input.is_empty() && input.starts_with(signature) {
        return parse_v2(input);
    }
    parse_v1(input)
}

fn parse_v1(input: &[u8]) -> Header {
    let start = b"PROXY ";
    if !input.starts_with(start.get(..input.len().min(start.len())).unwrap_or_default()) {
        return Header::Invalid;
    }
    let Some(end) = input.iter().take(V1_MAX).position(|byte| *byte == b'\n') else {
        return if input.len() < V1_MAX { Header::Partial } else { Header::Invalid };
    };
    let line = input.get(start.len()..end).and_then(|line| line.strip_suffix(b"\r"));
    match line.and_then(|line| std::str::from_utf8(line).ok()).map(v1_client) {
        Some(Some(client)) => Header::Complete { len: end + 1, client },
        _ => Header::Invalid,
    }
}

/// What follows `PROXY `: the outer none is an error, the inner one an unknown client.
fn v1_client(line: &str) -> Option<Option<SocketAddr>> {
    let mut words = line.split(' ');
    let family = words.next()?;
    if family == "UNKNOWN" {
        return Some(None);
    }
    let (source, destination) = (words.next()?, words.next()?);
    let (source_port, destination_port) = (words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    destination_port.parse::<u16>().ok()?;
    let (source, _): (IpAddr, IpAddr) = match family {
        "TCP4" => (source.parse::<Ipv4Addr>().ok()?.into(), destination.parse::<Ipv4Addr>().ok()?.into()),
        "TCP6" => (source.parse::<Ipv6Addr>().ok()?.into(), destination.parse::<Ipv6Addr>().ok()?.into()),
        _ => return None,
    };
    Some(Some(SocketAddr::new(source, source_port.parse().ok()?)))
}

fn parse_v2(input: &[u8]) -> Header {
    let Some(([version_command, family, high, low], rest)) =
        input.get(V2_SIGNATURE.len()..).and_then(<[u8]>::split_first_chunk)
    else {
        return Header::Partial;
    };
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    if len > V2_MAX || version_command >> 4 != 2 {
        return Header::Invalid;
    }
    let Some(body) = rest.get(..len) else { return Header::Partial };
    let len = V2_SIGNATURE.len() + 4 + len;
    match (version_command & 0xf, family) {
        (0, _) => Header::Complete { len, client: None },
        (1, 0x11) => v2_client::<4>(body).map_or(Header::Invalid, |(ip, port)| Header::Complete {
            len,
            client: Some(SocketAddr::new(Ipv4Addr::from(ip).into(), port)),
        }),
        (1, 0x21) => v2_client::<16>(body).map_or(Header::Invalid, |(ip, port)| Header::Complete {
            len,
            client: Some(SocketAddr::new(Ipv6Addr::from(ip).into(), port)),
        }),
        (1, _) => Header::Complete { len, client: None },
        _ => Header::Invalid,
    }
}

/// Source address and port of an address block whose addresses have `N` bytes.
fn v2_client<const N: usize>(body: &[u8]) -> Option<([u8; N], u16)> {
    let (source, rest) = body.split_first_chunk::<N>()?;
    let (_destination, rest) = rest.split_first_chunk::<N>()?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    (rest.len() >= 2).then(|| (*source, u16::from_be_bytes(*port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(len: usize, client: &str) -> Header {
        Header::Complete { len, client: Some(client.parse().unwrap()) }
    }

    #[test]
    fn version_1_names_the_client() {
        let text = b"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\nGET";
        assert_eq!(parse(text), complete(45, "192.0.2.1:56324"));
        let text = b"PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n";
        assert_eq!(parse(text), complete(text.len(), "[2001:db8::1]:1"));
        assert_eq!(parse(b"PROXY UNKNOWN ff\r\n"), Header::Complete { len: 18, client: None });
    }

    #[test]
    fn version_2_names_the_client() {
        let mut text = V2_SIGNATURE.to_vec();
        text.extend_from_slice(&[0x21, 0x11, 0, 12, 192, 0, 2, 1, 198, 51, 100, 1, 0xdc, 4, 1, 0xbb]);
        assert_eq!(parse(&text), complete(28, "192.0.2.1:56324"));
        for cut in 1..text.len() {
            assert_eq!(parse(&text[..cut]), Header::Partial, "{cut}");
        }
        let mut local = V2_SIGNATURE.to_vec();
        local.extend_from_slice(&[0x20, 0, 0, 0]);
        assert_eq!(parse(&local), Header::Complete { len: 16, client: None });
    }

    #[test]
    fn connections_without_the_header_are_refused() {
        for text in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"\x16\x03\x01",
            b"PROXY TCP4 192.0.2.1\r\n",
            b"PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
        ] {
            assert_eq!(parse(text), Header::Invalid, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(parse(&[b"PROXY ".to_vec(), vec![b'a'; 200]].concat()), Header::Invalid);
        assert_eq!(parse(b"PROX"), Header::Partial);
    }
}
