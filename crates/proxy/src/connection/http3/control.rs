//! Streams of one direction: those that HTTP/3 and QPACK need, and any that mean nothing to us (RFC 9114 §6.2).

use std::future::pending;
use std::rc::Rc;

use bytes::Bytes;
use quinn::{RecvStream, SendStream, WriteError};

use super::frame::{Code, Header, kind, number, write_header, write_number};
use super::{Shared, section};
use crate::buffers::READ;
use crate::limits::Limits;

/// Types of streams (RFC 9114 §6.2; RFC 9204 §4.2).
const CONTROL: u64 = 0x0;
const PUSH: u64 = 0x1;
const QPACK_ENCODER: u64 = 0x2;
const QPACK_DECODER: u64 = 0x3;

/// Settings (RFC 9114 §7.2.4.1): how large a field section may be; and those of HTTP/2, which are an error here.
const MAX_FIELD_SECTION_SIZE: u64 = 0x6;
const SETTINGS_OF_HTTP2: [u64; 5] = [0x0, 0x2, 0x3, 0x4, 0x5];

/// The largest frame on a control stream that has a meaning, in bytes: room for two hundred settings.
const CONTROL_FRAME: u64 = 4096;

/// With this instruction a QPACK encoder sets the capacity that it has anyway, none (RFC 9204 §4.3.1).
const NO_CAPACITY: u8 = 0x20;

/// No stream that a client opens has this number or a greater one (RFC 9114 §5.2).
pub(super) const NO_STREAM: u64 = (1 << 62) - 4;

/// What we say about the connection.
pub(super) struct Control {
    stream: SendStream,
    out: Vec<u8>,
}

impl Control {
    /// Begins with our settings.
    pub(super) fn new(stream: SendStream, limits: &Limits) -> Control {
        let (mut out, mut settings) = (Vec::new(), Vec::new());
        write_number(&mut settings, MAX_FIELD_SECTION_SIZE);
        // Clients count 32 bytes more for each field (RFC 9114 §4.2.2) than our limit does: they are told what is taken
        // in, lest they keep back what would be served.
        write_number(&mut settings, section::largest(limits) as u64);
        write_number(&mut out, CONTROL);
        write_header(&mut out, kind::SETTINGS, settings.len());
        out.extend_from_slice(&settings);
        Control { stream, out }
    }

    /// Requests on streams from this one on are not taken.
    pub(super) fn goaway(&mut self, stream: u64) {
        let mut payload = Vec::new();
        write_number(&mut payload, stream);
        write_header(&mut self.out, kind::GOAWAY, payload.len());
        self.out.extend_from_slice(&payload);
    }

    /// Sends what waits; never ends where nothing does.
    pub(super) async fn send(&mut self) -> Result<(), WriteError> {
        if self.out.is_empty() {
            pending::<()>().await;
        }
        while !self.out.is_empty() {
            let written = self.stream.write(&self.out).await?;
            self.out.drain(..written);
        }
        Ok(())
    }

    /// Whether everything is on its way.
    pub(super) fn is_sent(&self) -> bool {
        self.out.is_empty()
    }
}

/// Reads a stream that a client has opened, to its end.
pub(super) async fn receive(shared: Rc<Shared>, mut stream: RecvStream) {
    if !shared.load.count() {
        return shared.fail(Code::ExcessiveLoad);
    }
    let mut bytes = Bytes::new();
    let Some(of) = kind_of(&mut stream, &mut bytes).await else { return };
    let ended = match of {
        CONTROL | QPACK_ENCODER | QPACK_DECODER if !shared.opens(of) => Err(Code::StreamCreation),
        CONTROL => control(&shared, &mut stream, bytes).await,
        QPACK_ENCODER => encoder(&mut stream, bytes).await,
        QPACK_DECODER => decoder(&mut stream).await,
        PUSH => Err(Code::StreamCreation),
        _ => {
            // One that the client has ended already needs no telling.
            let _ = stream.stop(Code::StreamCreation.into());
            return;
        }
    };
    // The connection lives no longer than the streams that it needs.
    shared.fail(ended.err().unwrap_or(Code::ClosedCriticalStream));
}

async fn more(stream: &mut RecvStream) -> Option<Bytes> {
    stream.read_chunk(READ, true).await.ok().flatten().map(|chunk| chunk.bytes)
}

/// The type of a stream, with which it begins; `rest` is what came with it. None if it ends before.
async fn kind_of(stream: &mut RecvStream, rest: &mut Bytes) -> Option<u64> {
    let mut begun = Vec::new();
    loop {
        begun.extend_from_slice(&more(stream).await?);
        if let Some((kind, length)) = number(&begun) {
            begun.drain(..length);
            *rest = begun.into();
            return Some(kind);
        }
    }
}

/// The client's control stream: settings first, then what little concerns a server.
async fn control(shared: &Shared, stream: &mut RecvStream, mut bytes: Bytes) -> Result<(), Code> {
    let (mut header, mut settled) = (Header::default(), false);
    loop {
        let (of, length) = loop {
            match header.take(&mut bytes) {
                Some(found) => break found,
                None => match more(stream).await {
                    Some(next) => bytes = next,
                    None => return Ok(()),
                },
            }
        };
        if !shared.load.count() {
            return Err(Code::ExcessiveLoad);
        }
        match of {
            kind::SETTINGS if !settled => settled = true,
            _ if !settled => return Err(Code::MissingSettings),
            kind::GOAWAY | kind::MAX_PUSH_ID => {}
            kind::CANCEL_PUSH => return Err(Code::Id), // none was promised
            kind::SETTINGS | kind::DATA | kind::HEADERS | kind::PUSH_PROMISE => {
                return Err(Code::FrameUnexpected);
            }
            other if kind::OF_HTTP2.contains(&other) => return Err(Code::FrameUnexpected),
            _ => {
                if !pass_over(stream, &mut bytes, length).await {
                    return Ok(());
                }
                continue;
            }
        }
        let Some(payload) = payload(stream, &mut bytes, length).await? else { return Ok(()) };
        match of {
            kind::SETTINGS => settings(&payload)?,
            _ => identifier(&payload)?,
        }
    }
}

/// A frame's payload; none if the stream ends within.
async fn payload(stream: &mut RecvStream, bytes: &mut Bytes, length: u64) -> Result<Option<Vec<u8>>, Code> {
    if length > CONTROL_FRAME {
        return Err(Code::ExcessiveLoad);
    }
    let (mut payload, length) = (Vec::new(), usize::try_from(length).unwrap_or(usize::MAX));
    loop {
        payload.extend_from_slice(&bytes.split_to(bytes.len().min(length - payload.len())));
        if payload.len() == length {
            return Ok(Some(payload));
        }
        match more(stream).await {
            Some(next) => *bytes = next,
            None => return Ok(None),
        }
    }
}

/// Passes over a payload; false if the stream ends within.
async fn pass_over(stream: &mut RecvStream, bytes: &mut Bytes, mut left: u64) -> bool {
    loop {
        let passed = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        drop(bytes.split_to(passed));
        left -= passed as u64;
        if left == 0 {
            return true;
        }
        match more(stream).await {
            Some(next) => *bytes = next,
            None => return false,
        }
    }
}

/// RFC 9114 §7.2.4: pairs of numbers, none of them twice. None of them changes what we send.
fn settings(mut payload: &[u8]) -> Result<(), Code> {
    let mut seen = Vec::new();
    while !payload.is_empty() {
        let (setting, length) = number(payload).ok_or(Code::Frame)?;
        payload = payload.get(length..).unwrap_or_default();
        let (_, length) = number(payload).ok_or(Code::Frame)?;
        payload = payload.get(length..).unwrap_or_default();
        if SETTINGS_OF_HTTP2.contains(&setting) || seen.contains(&setting) {
            return Err(Code::Settings);
        }
        seen.push(setting);
    }
    Ok(())
}

/// GOAWAY and MAX_PUSH_ID: one number, about pushes, of which there are none.
fn identifier(payload: &[u8]) -> Result<(), Code> {
    match number(payload) {
        Some((_, length)) if length == payload.len() => Ok(()),
        _ => Err(Code::Frame),
    }
}

/// Without a dynamic table its encoder has nothing to say (RFC 9204 §4.3).
async fn encoder(stream: &mut RecvStream, mut bytes: Bytes) -> Result<(), Code> {
    loop {
        if bytes.iter().any(|byte| *byte != NO_CAPACITY) {
            return Err(Code::QpackEncoderStream);
        }
        match more(stream).await {
            Some(next) => bytes = next,
            None => return Ok(()),
        }
    }
}

/// What the client's decoder says concerns a dynamic table that we do not use (RFC 9204 §4.4).
async fn decoder(stream: &mut RecvStream) -> Result<(), Code> {
    while more(stream).await.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(u64, u64)]) -> Vec<u8> {
        let mut payload = Vec::new();
        for (setting, value) in pairs {
            write_number(&mut payload, *setting);
            write_number(&mut payload, *value);
        }
        payload
    }

    #[test]
    fn settings_are_pairs_without_those_of_http2_and_none_twice() {
        assert_eq!(settings(&pairs(&[(6, 4096), (0x1f * 3 + 0x21, 9), (8, 1)])), Ok(()));
        assert_eq!(settings(b""), Ok(()));
        assert_eq!(settings(&pairs(&[(6, 1), (6, 1)])), Err(Code::Settings));
        assert_eq!(settings(&pairs(&[(2, 1)])), Err(Code::Settings));
        assert_eq!(settings(&[6]), Err(Code::Frame));
    }

    #[test]
    fn an_identifier_is_one_number() {
        assert_eq!(identifier(&[5]), Ok(()));
        assert_eq!((identifier(&[]), identifier(&[5, 5])), (Err(Code::Frame), Err(Code::Frame)));
    }
}
