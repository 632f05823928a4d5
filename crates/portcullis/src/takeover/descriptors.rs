//! Sockets over a socket (`SCM_RIGHTS`, unix(7)).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Descriptors in a message; the kernel takes 253 at most.
const BATCH: usize = 64;
/// Goes with some descriptors.
const SOME: u8 = b's';
/// Goes with none: there are no more.
const END: u8 = b'e';

/// Sends sockets, and that these were all.
pub(super) async fn send(stream: &UnixStream, sockets: &[OwnedFd]) -> io::Result<()> {
    for batch in sockets.chunks(BATCH) {
        let batch: Vec<BorrowedFd<'_>> = batch.iter().map(AsFd::as_fd).collect();
        send_message(stream, SOME, &batch).await?;
    }
    send_message(stream, END, &[]).await
}

async fn send_message(stream: &UnixStream, tag: u8, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let send = || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(sendmsg(stream, &[IoSlice::new(&[tag])], &mut ancillary, SendFlags::NOSIGNAL)?)
    };
    stream.async_io(Interest::WRITABLE, send).await.map(drop)
}

/// Receives what [`send`] sends.
pub(super) async fn receive(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::new();
    loop {
        match stream.async_io(Interest::READABLE, || receive_message(stream, &mut sockets)).await? {
            SOME => {}
            END => return Ok(sockets),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Receives a message, a byte and what goes with it.
fn receive_message(stream: &UnixStream, sockets: &mut Vec<OwnedFd>) -> io::Result<u8> {
    let mut tag = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(stream, &mut [IoSliceMut::new(&mut tag)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            sockets.extend(descriptors);
        }
    }
    let [tag] = tag;
    Ok(tag)
}
