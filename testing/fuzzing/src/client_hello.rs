//! ClientHellos: where segments end changes nothing, and the server name is the one that rustls reads, so that a
//! connection is never led by one name and ended under another.
//!
//! The first two bytes of the input say where to cut.

use portcullis_proxy::{ClientHello, ClientHelloReader, NoClientHello};
use rustls::server::Acceptor;

type Read = Result<ClientHello, NoClientHello>;

/// Beyond this rustls takes no handshake message.
const MESSAGE: usize = 0xffff;

pub(crate) fn run(input: &[u8]) {
    let [a, b, input @ ..] = input else { return };
    let whole = ClientHelloReader::default().read(input);
    let cuts = [usize::from(*a), usize::from(*a) + usize::from(*b) * 8];
    assert_eq!(grown(input, cuts), whole);
    if let Some(name) = name_for_rustls(input) {
        assert_eq!(whole, Ok(ClientHello::Whole(name)));
    }
}

/// What becomes of the input if it comes in pieces that end at `cuts`.
fn grown(input: &[u8], cuts: [usize; 2]) -> Read {
    let mut reader = ClientHelloReader::default();
    for cut in cuts {
        match reader.read(input.get(..cut).unwrap_or(input)) {
            Ok(ClientHello::Part) => {}
            known => return known,
        }
    }
    reader.read(input)
}

/// The name in a ClientHello that rustls takes.
fn name_for_rustls(input: &[u8]) -> Option<Option<String>> {
    let mut acceptor = Acceptor::default();
    let mut left = input.get(..MESSAGE).unwrap_or(input);
    while !left.is_empty() {
        acceptor.read_tls(&mut left).ok()?;
        if let Some(accepted) = acceptor.accept().ok()? {
            return Some(accepted.client_hello().server_name().map(str::to_owned));
        }
    }
    None
}
