//! Connection IDs that name the worker that has the connection, to nobody but us.

use std::hash::{BuildHasher as _, RandomState};

use quinn::ConnectionId;
use quinn_proto::{ConnectionIdGenerator, InvalidCid};

/// What tells the IDs of a worker apart, in bytes.
const NONCE: usize = 6;
/// An ID, in bytes: the nonce, the worker's number, and what shows that it is one of ours.
const LENGTH: usize = NONCE + 2 + 4;

/// With this bit in its first byte a packet has a long header (RFC 9000 §17.2).
const LONG_HEADER: u8 = 0x80;
/// Where the length of the destination's ID stands in a long header, after the version.
const LONG_HEADER_ID: usize = 5;

/// What hides the workers' numbers, and tells IDs of ours from those that clients make up: a keyed hash (SipHash).
#[derive(Clone, Debug, Default)]
pub(crate) struct Key(RandomState);

impl Key {
    fn mask(&self, nonce: &[u8]) -> u16 {
        self.0.hash_one(("worker", nonce)) as u16
    }

    fn tag(&self, nonce: &[u8], worker: u16) -> [u8; 4] {
        (self.0.hash_one(("tag", nonce, worker)) as u32).to_be_bytes()
    }

    /// The worker's `count`th ID.
    fn issue(&self, worker: u16, count: u64) -> ConnectionId {
        let random = self.0.hash_one(("nonce", worker, count)).to_be_bytes();
        let nonce = random.get(..NONCE).unwrap_or_default();
        let hidden = (worker ^ self.mask(nonce)).to_be_bytes();
        ConnectionId::new(&[nonce, &hidden, &self.tag(nonce, worker)].concat())
    }

    /// The worker that issued an ID, if one did.
    fn issuer(&self, id: &[u8]) -> Option<u16> {
        let (nonce, rest) = id.split_at_checked(NONCE)?;
        let (hidden, tag) = rest.split_first_chunk::<2>()?;
        let worker = u16::from_be_bytes(*hidden) ^ self.mask(nonce);
        (*tag == self.tag(nonce, worker)).then_some(worker)
    }

    /// The worker whose connection a datagram is for, if it says so.
    pub(super) fn worker(&self, datagram: &[u8]) -> Option<u16> {
        self.issuer(destination(datagram)?)
    }
}

/// The ID for which the first packet of a datagram is, if it can be one of ours (RFC 9000 §17.2, §17.3).
fn destination(datagram: &[u8]) -> Option<&[u8]> {
    let first = datagram.first()?;
    if first & LONG_HEADER == 0 {
        return datagram.get(1..1 + LENGTH);
    }
    let length = usize::from(*datagram.get(LONG_HEADER_ID)?);
    datagram.get(LONG_HEADER_ID + 1..).and_then(|rest| rest.get(..LENGTH)).filter(|_| length == LENGTH)
}

/// Issues the IDs of a worker.
pub(super) struct Generator {
    key: Key,
    worker: u16,
    count: u64,
}

impl Generator {
    pub(super) fn new(key: Key, worker: u16) -> Generator {
        Generator { key, worker, count: 0 }
    }
}

impl ConnectionIdGenerator for Generator {
    fn generate_cid(&mut self) -> ConnectionId {
        self.count += 1;
        self.key.issue(self.worker, self.count)
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        self.key.issuer(id).map(drop).ok_or(InvalidCid)
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is issued is found again in either form of header, and only under the key that it was issued under.
        #[test]
        fn an_id_names_its_worker_to_us_alone(worker: u16, count: u64, flags: u8, rest: Vec<u8>) {
            let (ours, other) = (Key::default(), Key::default());
            let id = ours.issue(worker, count);
            let short = [&[flags & !LONG_HEADER], &id[..], &rest].concat();
            let length = u8::try_from(LENGTH).unwrap();
            let long = [&[flags | LONG_HEADER, 0, 0, 0, 1, length], &id[..], &rest].concat();
            for datagram in [short, long] {
                prop_assert_eq!(ours.worker(&datagram), Some(worker));
                prop_assert_eq!(other.worker(&datagram), None);
            }
        }

        /// Whatever comes from the network is read without a panic.
        #[test]
        fn any_datagram_is_read(datagram: Vec<u8>) {
            prop_assert_eq!(Key::default().worker(&datagram), None);
        }
    }

    /// RFC 9000 §5.1: IDs of one connection must not be recognizable as such.
    #[test]
    fn ids_of_a_worker_have_nothing_in_common() {
        let key = Key::default();
        let ids: Vec<_> = (0..64).map(|count| key.issue(3, count)).collect();
        for byte in 0..LENGTH {
            let seen: std::collections::BTreeSet<u8> = ids.iter().map(|id| id[byte]).collect();
            assert!(seen.len() > 32, "byte {byte} takes {} values", seen.len());
        }
    }
}
