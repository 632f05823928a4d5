//! Field names that a proxy acts on, recognised once when a head is read.

use crate::syntax;

/// The length of the longest name.
const LONGEST: usize = 30;

/// Declares [`Known`] with the lower-case name of each member.
macro_rules! known {
    ($($(#[$doc:meta])* $id:ident = $name:literal,)*) => {
        /// A field name that has its own identity, so that asking for it costs one bit test.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each member is the field of that name")]
        pub enum Known { $($(#[$doc])* $id,)* }

        impl Known {
            /// All members, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$id,)*];

            /// The name in lower case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$id => $name,)* }
            }
        }
    };
}

known! {
    Accept = "accept",
    AcceptEncoding = "accept-encoding",
    AcceptLanguage = "accept-language",
    AccessControlRequestHeaders = "access-control-request-headers",
    AccessControlRequestMethod = "access-control-request-method",
    Authorization = "authorization",
    CacheControl = "cache-control",
    Connection = "connection",
    ContentEncoding = "content-encoding",
    ContentLength = "content-length",
    ContentType = "content-type",
    Cookie = "cookie",
    Date = "date",
    Expect = "expect",
    Forwarded = "forwarded",
    GrpcStatus = "grpc-status",
    Host = "host",
    Http2Settings = "http2-settings",
    KeepAlive = "keep-alive",
    Location = "location",
    MaxForwards = "max-forwards",
    Origin = "origin",
    ProxyConnection = "proxy-connection",
    Server = "server",
    SetCookie = "set-cookie",
    Te = "te",
    Trailer = "trailer",
    TransferEncoding = "transfer-encoding",
    Upgrade = "upgrade",
    UserAgent = "user-agent",
    Via = "via",
    XForwardedClientCert = "x-forwarded-client-cert",
    XForwardedFor = "x-forwarded-for",
    XForwardedHost = "x-forwarded-host",
    XForwardedPort = "x-forwarded-port",
    XForwardedProto = "x-forwarded-proto",
    XRequestId = "x-request-id",
}

impl Known {
    /// The member with this name in any case, if there is one.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        if syntax::is_token(name) { Self::from_token(name) } else { None }
    }

    /// The member with this name in any case but for underscores in place of hyphens, if there is one.
    pub(crate) fn from_alias(name: &[u8]) -> Option<Self> {
        let mut hyphens = [0; LONGEST];
        let hyphens = hyphens.get_mut(..name.len())?;
        for (to, from) in hyphens.iter_mut().zip(name) {
            *to = if *from == b'_' { b'-' } else { *from };
        }
        Self::from_name(hyphens)
    }

    /// As [`Known::from_name`], for a name that is a token.
    pub(crate) fn from_token(name: &[u8]) -> Option<Self> {
        let first = name.first()? | 0x20;
        let candidates: &[Self] = match (name.len(), first) {
            (2, b't') => &[Self::Te],
            (3, b'v') => &[Self::Via],
            (4, b'h') => &[Self::Host],
            (4, b'd') => &[Self::Date],
            (6, b'a') => &[Self::Accept],
            (6, b'c') => &[Self::Cookie],
            (6, b'e') => &[Self::Expect],
            (6, b'o') => &[Self::Origin],
            (6, b's') => &[Self::Server],
            (7, b't') => &[Self::Trailer],
            (7, b'u') => &[Self::Upgrade],
            (8, b'l') => &[Self::Location],
            (9, b'f') => &[Self::Forwarded],
            (10, b'c') => &[Self::Connection],
            (10, b'k') => &[Self::KeepAlive],
            (10, b's') => &[Self::SetCookie],
            (10, b'u') => &[Self::UserAgent],
            (11, b'g') => &[Self::GrpcStatus],
            (12, b'c') => &[Self::ContentType],
            (12, b'm') => &[Self::MaxForwards],
            (12, b'x') => &[Self::XRequestId],
            (13, b'a') => &[Self::Authorization],
            (13, b'c') => &[Self::CacheControl],
            (14, b'c') => &[Self::ContentLength],
            (14, b'h') => &[Self::Http2Settings],
            (15, b'a') => &[Self::AcceptEncoding, Self::AcceptLanguage],
            (15, b'x') => &[Self::XForwardedFor],
            (16, b'c') => &[Self::ContentEncoding],
            (16, b'p') => &[Self::ProxyConnection],
            (16, b'x') => &[Self::XForwardedHost, Self::XForwardedPort],
            (17, b't') => &[Self::TransferEncoding],
            (17, b'x') => &[Self::XForwardedProto],
            (23, b'x') => &[Self::XForwardedClientCert],
            (29, b'a') => &[Self::AccessControlRequestMethod],
            (30, b'a') => &[Self::AccessControlRequestHeaders],
            _ => &[],
        };
        candidates.iter().copied().find(|known| token_is(name, known.name().as_bytes()))
    }

    /// The set of this member alone.
    #[must_use]
    pub const fn set(self) -> KnownSet {
        KnownSet(1 << self as u8)
    }
}

/// Whether a token equals `lower` of the same length but for case.
///
/// Setting bit 5 makes letters lower case and leaves `-` and digits; no other token character becomes one of these,
/// so whole words can be compared. The two words overlap where the length is between powers of two.
fn token_is(token: &[u8], lower: &[u8]) -> bool {
    fn ends<const N: usize>(bytes: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
        bytes.first_chunk().zip(bytes.last_chunk())
    }
    fn words(bytes: &[u8]) -> Option<(u128, u128)> {
        Some(match bytes.len() {
            4..=7 => {
                let (a, b) = ends::<4>(bytes)?;
                (u32::from_le_bytes(*a).into(), u32::from_le_bytes(*b).into())
            }
            8..=15 => {
                let (a, b) = ends::<8>(bytes)?;
                (u64::from_le_bytes(*a).into(), u64::from_le_bytes(*b).into())
            }
            16..=32 => {
                let (a, b) = ends::<16>(bytes)?;
                (u128::from_le_bytes(*a), u128::from_le_bytes(*b))
            }
            _ => return None,
        })
    }
    const BIT_5: u128 = u128::from_le_bytes([0x20; 16]);
    match (words(token), words(lower)) {
        (Some((a, b)), Some((x, y))) => (a | BIT_5, b | BIT_5) == (x | BIT_5, y | BIT_5),
        _ => token.eq_ignore_ascii_case(lower),
    }
}

/// A set of known names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownSet(u64);

impl KnownSet {
    /// Fields of one connection, which are not forwarded as received (RFC 9110 §7.6.1), and those that frame the
    /// message, which the writer sets anew. `HTTP2-Settings` belongs to an upgrade that is not taken
    /// (RFC 9113 §3.1).
    pub const NOT_FORWARDED: Self = Self::of(&[
        Known::Connection,
        Known::Http2Settings,
        Known::KeepAlive,
        Known::ProxyConnection,
        Known::Te,
        Known::TransferEncoding,
        Known::Upgrade,
    ]);

    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The set of these members.
    #[must_use]
    pub const fn of(mut members: &[Known]) -> Self {
        let mut bits = 0;
        while let [first, rest @ ..] = members {
            bits |= first.set().0;
            members = rest;
        }
        Self(bits)
    }

    /// Whether `known` is a member.
    #[must_use]
    pub const fn contains(self, known: Known) -> bool {
        self.0 & known.set().0 != 0
    }

    /// Whether the sets have a member in common.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The members of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members of `self` that `other` lacks.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn insert(&mut self, known: Known) {
        self.0 |= known.set().0;
    }

    pub(crate) fn remove(&mut self, known: Known) {
        self.0 &= !known.set().0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_found_in_any_case() {
        assert!(Known::ALL.len() <= 64, "the set is a u64");
        for &known in Known::ALL {
            assert_eq!(Known::from_name(known.name().as_bytes()), Some(known));
            assert_eq!(Known::from_name(known.name().to_ascii_uppercase().as_bytes()), Some(known));
            let alias = known.name().to_ascii_uppercase().replace('-', "_");
            assert_eq!(Known::from_alias(alias.as_bytes()), Some(known));
            let mut longer = known.name().to_owned();
            longer.push('x');
            assert_eq!(Known::from_name(longer.as_bytes()), None);
            assert_eq!(Known::from_alias(longer.as_bytes()), None);
        }
        assert_eq!(Known::from_name(b""), None);
        for other in [
            &b"hosu"[..],
            b"tf",
            b"content\rlength",
            b"content\x0dtype",
            b"x-forwarded\x0dfor",
            b"Content_Length",
        ] {
            assert_eq!(Known::from_name(other), None, "{}", other.escape_ascii());
        }
    }
}
