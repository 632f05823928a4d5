//! The server name of a TLS connection, read from its first bytes without taking them: a ClientHello in one record or
//! in many, whatever it offers (RFC 8446 §4.1.2, §5.1; RFC 6066 §3). With an encrypted ClientHello it is the outer name.

use std::net::IpAddr;

/// A record that carries handshake messages.
const HANDSHAKE: u8 = 22;
/// The message with which a client begins.
const CLIENT_HELLO: u8 = 1;
/// The extension that names the server, and the only kind of name in it.
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// A record's head, and a handshake message's, in bytes.
const RECORD_HEAD: usize = 5;
const MESSAGE_HEAD: usize = 4;
/// Content of a record, at most (RFC 8446 §5.1).
const RECORD: usize = 1 << 14;

/// Reads a ClientHello as it comes.
///
/// It looks for the server name alone: whether the rest can be agreed on is for who ends the connection.
#[derive(Debug, Default)]
pub struct ClientHelloReader {
    /// How much of the input was read.
    read: usize,
    /// The handshake message as far as it has come, without the records around it.
    message: Vec<u8>,
}

/// What the bytes so far are.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientHello {
    /// A ClientHello, with the server name in canonical form. An address is no name.
    Whole(Option<String>),
    /// The beginning of one.
    Part,
}

/// What comes is no ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no ClientHello")]
pub struct NoClientHello;

impl ClientHelloReader {
    /// Reads on, where `input` is all that has come, what was there before included.
    ///
    /// # Errors
    /// As soon as it is known that what comes is no ClientHello, or a malformed one.
    pub fn read(&mut self, input: &[u8]) -> Result<ClientHello, NoClientHello> {
        while let Some(rest @ [kind, ..]) = input.get(self.read..) {
            if *kind != HANDSHAKE {
                return Err(NoClientHello);
            }
            let Some((head, content)) = rest.split_at_checked(RECORD_HEAD) else { break };
            let &[_, major, _, high, low] = head else { break };
            let length = usize::from(u16::from_be_bytes([high, low]));
            if major != 3 || length == 0 || length > RECORD {
                return Err(NoClientHello);
            }
            let Some(content) = content.get(..length) else { break };
            self.message.extend_from_slice(content);
            self.read += RECORD_HEAD + length;
            if let Some(body) = self.body()? {
                return server_name(body).map(ClientHello::Whole).ok_or(NoClientHello);
            }
        }
        Ok(ClientHello::Part)
    }

    /// The whole message, once it is there.
    fn body(&self) -> Result<Option<&[u8]>, NoClientHello> {
        let Some((head, rest)) = self.message.split_at_checked(MESSAGE_HEAD) else { return Ok(None) };
        match *head {
            [CLIENT_HELLO, a, b, c] => Ok(rest.get(..u32::from_be_bytes([0, a, b, c]) as usize)),
            _ => Err(NoClientHello),
        }
    }
}

/// What is left of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// A field with its length before it, in one byte or in two.
    fn short(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(length.into())
    }

    fn long(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }
}

/// The name that a ClientHello has; nothing if it is malformed.
fn server_name(body: &[u8]) -> Option<Option<String>> {
    let mut hello = Fields(body);
    hello.take(2 + 32)?; // version and random
    hello.short()?; // session
    hello.long()?; // cipher suites
    hello.short()?; // compression
    if hello.0.is_empty() {
        return Some(None); // before TLS 1.3 there may be no extensions
    }
    let mut extensions = Fields(hello.long()?);
    let mut name = None;
    while !extensions.0.is_empty() {
        let (kind, content) = (extensions.number()?, extensions.long()?);
        if kind == SERVER_NAME {
            name = host_name(content)?;
        }
    }
    Some(name)
}

/// The host among the names of the extension, in canonical form.
fn host_name(content: &[u8]) -> Option<Option<String>> {
    let mut names = Fields(Fields(content).long()?);
    while !names.0.is_empty() {
        let (kind, name) = (names.byte()?, names.long()?);
        if kind == HOST_NAME {
            let name = std::str::from_utf8(name).ok()?.trim_end_matches('.').to_ascii_lowercase();
            return Some((!name.is_empty() && name.parse::<IpAddr>().is_err()).then_some(name));
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized<const N: usize>(content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_be_bytes();
        [&length[4 - N..], content].concat()
    }

    fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
        [kind.to_be_bytes().to_vec(), sized::<2>(content)].concat()
    }

    fn named(name: &[u8]) -> Vec<u8> {
        extension(0, &sized::<2>(&[vec![0], sized::<2>(name)].concat()))
    }

    /// A ClientHello with these extensions, without records around it.
    fn message(extensions: &[Vec<u8>]) -> Vec<u8> {
        let suites = sized::<2>(&[0x1a, 0x1a, 0x13, 0x01]); // one of them GREASE (RFC 8701)
        let body = [
            vec![3, 3],
            vec![7; 32],
            sized::<1>(&[9; 32]),
            suites,
            sized::<1>(&[0]),
            sized::<2>(&extensions.concat()),
        ];
        [vec![1], sized::<3>(&body.concat())].concat()
    }

    /// The message in records of at most this size.
    fn records(message: &[u8], size: usize) -> Vec<u8> {
        message.chunks(size).flat_map(|part| [vec![22, 3, 1], sized::<2>(part)].concat()).collect()
    }

    fn read(input: &[u8]) -> Result<ClientHello, NoClientHello> {
        ClientHelloReader::default().read(input)
    }

    fn whole(name: Option<&str>) -> Result<ClientHello, NoClientHello> {
        Ok(ClientHello::Whole(name.map(str::to_owned)))
    }

    #[test]
    fn the_name_is_found_wherever_records_and_segments_end() {
        let key_shares = extension(51, &[5; 1300]); // as X25519MLKEM768 makes them
        let grease = extension(0x2a2a, &[]);
        let message = message(&[grease, key_shares, named(b"A.Example.COM."), extension(0xfe0d, &[1; 200])]);
        for size in [1, 2, 3, 100, 1000, message.len()] {
            let input = records(&message, size);
            assert_eq!(read(&input), whole(Some("a.example.com")), "records of {size}");
            let mut reader = ClientHelloReader::default();
            for end in 0..input.len() {
                assert_eq!(reader.read(&input[..end]), Ok(ClientHello::Part), "{end} of records of {size}");
            }
            assert_eq!(reader.read(&input), whole(Some("a.example.com")));
        }
    }

    #[test]
    fn what_follows_a_hello_is_none_of_its_business() {
        let input = [records(&message(&[named(b"a.test")]), 4000), vec![23, 3, 3, 0, 1, 0]].concat();
        assert_eq!(read(&input), whole(Some("a.test")));
    }

    /// RFC 6066 §3: addresses are no names.
    #[test]
    fn a_hello_may_name_no_server() {
        for extensions in
            [vec![], vec![extension(16, b"\0\x03\x02h2")], vec![named(b"192.0.2.1")], vec![named(b"::1")]]
        {
            assert_eq!(read(&records(&message(&extensions), 4000)), whole(None), "{extensions:?}");
        }
        let old = [vec![3, 3], vec![7; 32], vec![0], sized::<2>(&[0x13, 0x01]), sized::<1>(&[0])].concat();
        assert_eq!(read(&records(&[vec![1], sized::<3>(&old)].concat(), 4000)), whole(None));
    }

    #[test]
    fn what_is_no_hello_is_known_at_once() {
        for input in [
            &b"GET / HTTP/1.1\r\n"[..],
            &[22, 2, 0, 0, 5],
            &[22, 3, 1, 0, 0],
            &[22, 3, 1, 0x40, 1],
            &[22, 3, 1, 0, 4, 2, 0, 0, 0],
            &[22, 3, 1, 0, 1, 1, 21, 3, 1, 0, 1],
        ] {
            assert_eq!(read(input), Err(NoClientHello), "{input:?}");
        }
        let mut cut = message(&[named(b"a.test")]);
        cut[3] -= 1; // the last extension ends beyond the message
        assert_eq!(read(&records(&cut, 4000)), Err(NoClientHello));
        assert_eq!(read(&records(&message(&[named(b"\xff")]), 4000)), Err(NoClientHello));
    }
}
