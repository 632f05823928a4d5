//! A backend that says which one it is.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream},
    thread,
};

use crate::Error;

/// Answers every request with one letter, on a free port, as long as this process lives.
pub(super) fn serve(address: Ipv4Addr, letter: u8) -> Result<SocketAddrV4, Error> {
    let failed = |error| Error::Measurement(format!("a backend at {address}: {error}"));
    let listener = TcpListener::bind((address, 0)).map_err(failed)?;
    let port = listener.local_addr().as_ref().map(SocketAddr::port).unwrap_or_default();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A connection that fails is the proxy's to replace.
            thread::spawn(move || answer(connection, letter));
        }
    });
    Ok(SocketAddrV4::new(address, port))
}

/// Answers requests without bodies, one after the other.
fn answer(mut connection: TcpStream, letter: u8) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let answer = [b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n".as_slice(), &[letter]].concat();
    let (mut head, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = connection.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        head.extend_from_slice(piece.get(..read).unwrap_or_default());
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            connection.write_all(&answer)?;
        }
    }
}
