//! Every limit and timeout of the data plane: one table, from which the options and the documentation follow.

use std::fmt;
use std::time::Duration;

/// A limit as the documentation and the command line show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitInfo {
    /// Its name, as `--limit NAME=VALUE` takes it.
    pub name: &'static str,
    /// Its value where nobody sets another.
    pub default: LimitValue,
    /// The least and the greatest number of bytes that it can be, where not every value works.
    pub range: Option<(Bytes, Bytes)>,
    /// What it bounds, and why by this much.
    pub reason: &'static str,
}

/// The value of a limit, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitValue {
    /// A time; zero turns the limit off.
    Time(Duration),
    /// A number of bytes; zero turns the limit off.
    Bytes(usize),
    /// A number of things.
    Count(usize),
}

/// Why a limit was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// There is no such limit.
    #[error("there is no limit named {0}")]
    Unknown(String),
    /// The value does not parse.
    #[error("{value} is no {unit} for the limit {name}")]
    Malformed {
        /// The limit.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would be taken.
        unit: &'static str,
    },
    /// With this value nothing could be served.
    #[error("{name} must be from {least} to {most}, not {value}")]
    OutOfRange {
        /// The limit.
        name: &'static str,
        /// What was given.
        value: String,
        /// The least that works.
        least: Bytes,
        /// The greatest that works.
        most: Bytes,
    },
}

/// How a field of [`Limits`] reads and shows its value.
trait Quantity: Sized {
    fn shown(self) -> LimitValue;
    fn parse(text: &str) -> Option<Self>;
    const UNIT: &'static str;

    /// The value in bytes, for quantities that are some.
    fn bytes(&self) -> Option<Bytes> {
        None
    }
}

/// A number of bytes; zero means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub usize);

impl fmt::Display for Bytes {
    /// As `--limit` takes it: `64Ki`, `1Mi`, `1000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0"),
            bytes if bytes % (1 << 20) == 0 => write!(f, "{}Mi", bytes >> 20),
            bytes if bytes % (1 << 10) == 0 => write!(f, "{}Ki", bytes >> 10),
            bytes => bytes.fmt(f),
        }
    }
}

/// Heads from the smallest that common clients send to the largest that a buffer should have to hold.
const HEADS: (Bytes, Bytes) = (Bytes(1 << 10), Bytes(16 << 20));
/// Flow-control windows, whose upper bound is RFC 9113's (2^31 - 1) in whole KiB.
const WINDOWS: (Bytes, Bytes) = (Bytes(1 << 10), Bytes((1 << 31) - (1 << 10)));

impl Quantity for Duration {
    const UNIT: &'static str = "time (such as 500ms, 10s or 2m)";
    fn shown(self) -> LimitValue {
        LimitValue::Time(self)
    }
    fn parse(text: &str) -> Option<Duration> {
        let split = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at_checked(split)?;
        let number: u64 = number.parse().ok()?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        number.checked_mul(millis).map(Duration::from_millis)
    }
}

impl Quantity for Bytes {
    const UNIT: &'static str = "size (such as 65536, 64Ki or 10Mi)";
    fn shown(self) -> LimitValue {
        LimitValue::Bytes(self.0)
    }
    fn bytes(&self) -> Option<Bytes> {
        Some(*self)
    }
    fn parse(text: &str) -> Option<Bytes> {
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(split)?;
        let number: usize = number.parse().ok()?;
        let factor = match unit {
            "" => 1,
            "Ki" => 1 << 10,
            "Mi" => 1 << 20,
            "Gi" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(factor).map(Bytes)
    }
}

impl Quantity for usize {
    const UNIT: &'static str = "number from 1";
    fn shown(self) -> LimitValue {
        LimitValue::Count(self)
    }
    fn parse(text: &str) -> Option<usize> {
        text.parse().ok().filter(|number| *number > 0)
    }
}

macro_rules! limits {
    ($($field:ident: $kind:ty = $default:expr $(, in $range:expr)?, $name:literal, $reason:literal;)*) => {
        /// The limits and timeouts that a proxy keeps. [`Limits::table()`] explains each.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $(#[doc = $reason] pub $field: $kind,)*
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($field: $default,)* }
            }
        }

        impl Limits {
            /// Every limit, as the documentation lists it.
            #[must_use]
            pub fn table() -> Vec<LimitInfo> {
                vec![$(LimitInfo {
                    name: $name,
                    default: Quantity::shown($default),
                    range: [$($range)?].first().copied(),
                    reason: $reason,
                },)*]
            }

            /// Sets a limit by its name.
            ///
            /// # Errors
            /// When there is no such limit, or the value is not of its unit or out of its range.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), LimitError> {
                match name {
                    $($name => self.$field = read($name, value, [$($range)?].first().copied())?,)*
                    _ => return Err(LimitError::Unknown(name.to_owned())),
                }
                Ok(())
            }
        }
    };
}

/// The value of a limit from what a user wrote.
fn read<T: Quantity>(
    name: &'static str,
    value: &str,
    range: Option<(Bytes, Bytes)>,
) -> Result<T, LimitError> {
    let quantity =
        T::parse(value).ok_or(LimitError::Malformed { name, value: value.to_owned(), unit: T::UNIT })?;
    match (quantity.bytes(), range) {
        (Some(bytes), Some((least, most))) if !(least..=most).contains(&bytes) => {
            Err(LimitError::OutOfRange { name, value: value.to_owned(), least, most })
        }
        _ => Ok(quantity),
    }
}

limits! {
    connections_per_port: usize = 50_000, "connections-per-port",
        "Open client connections of one address and port; more are closed at once. Keeps one port from taking \
         every file descriptor.";
    head_bytes: Bytes = Bytes(64 << 10), in HEADS, "head-bytes",
        "Request line and fields of a request, the same for every HTTP version; more is answered with 431. Room \
         for the large cookies seen in practice.";
    client_hello_bytes: Bytes = Bytes(64 << 10), in HEADS, "client-hello-bytes",
        "The first message of a TLS connection, on ports with TLS listeners; more ends the connection. Far above \
         what post-quantum key shares and encrypted names take.";
    head_fields: usize = 256, "head-fields",
        "Field lines of a head. HTTP/2 clients split cookies into a line each, so a tighter limit meets honest \
         requests.";
    body_bytes: Bytes = Bytes(0), "body-bytes",
        "Body of a request; more is answered with 413. Off, for uploads have no common size.";
    head_timeout: Duration = Duration::from_secs(10), "head-timeout",
        "From the first byte of a request, or from accepting for the first one, to the end of its head, the TLS \
         handshake and the PROXY header included each; then 408 and close. Bounds slowloris.";
    idle_timeout: Duration = Duration::from_secs(75), "idle-timeout",
        "A client connection without a request. Longer than the 60 s after which common load balancers in front \
         close theirs, so that they never send into a closing connection.";
    body_timeout: Duration = Duration::from_secs(60), "body-timeout",
        "Silence of a client that owes body bytes, or that does not read what it asked for; tunnels are exempt. \
         Bounds slow bodies and slow readers.";
    udp_flows: usize = 8192, "udp-flows",
        "Clients of a UDP listener's address, a worker, each with a socket towards its endpoint. Where all are taken, \
         the oldest that was never answered makes room. Bounds what forged addresses cost.";
    udp_idle_timeout: Duration = Duration::from_secs(60), "udp-idle-timeout",
        "Silence of a UDP flow in both directions, which is the only end that it knows. Longer than resolvers and \
         games are silent; a client that speaks again later may meet another endpoint.";
    tcp_idle_timeout: Duration = Duration::from_secs(3600), "tcp-idle-timeout",
        "Silence of both sides of a connection that a TCPRoute or TLSRoute passes on, a side that does not read \
         included. Longer than the keep-alive of databases and message brokers; bounds what vanished peers hold.";
    connect_timeout: Duration = Duration::from_secs(5), "connect-timeout",
        "Connecting to an endpoint, name resolution included; then another endpoint is tried once.";
    upstream_send_timeout: Duration = Duration::from_secs(60), "upstream-send-timeout",
        "Silence of an endpoint that has no room for more of a request; then 504. Longer than backends are merely \
         busy; bounds what an upload to one that hangs holds.";
    ejection_failures: usize = 5, "ejection-failures",
        "Requests in a row to which an endpoint gave no answer at all, because no connection could be had or it ended \
         without one; then it is shut out. Enough that a restart between two of them is no matter.";
    ejection_time: Duration = Duration::from_secs(30), "ejection-time",
        "How long an endpoint is shut out the first time; zero shuts none out. Each time soon after doubles it. At most \
         half of a backend's endpoints are shut out at once, and a single one never is.";
    max_ejection_time: Duration = Duration::from_secs(300), "max-ejection-time",
        "How long an endpoint is shut out at most, and how long it has to do well for the times before to be forgotten.";
    slow_start: Duration = Duration::from_secs(10), "slow-start",
        "The time in which the share of an endpoint that joins others, or was shut out, grows from a tenth to the \
         whole; zero gives it at once. Room to fill caches, and short enough for a backend that grows under load.";
    upstream_idle_timeout: Duration = Duration::from_secs(4), "upstream-idle-timeout",
        "A pooled connection to an endpoint. Shorter than the keep-alive of common backends (Node.js closes after \
         5 s), so that requests are not sent into a connection that is being closed.";
    upstream_idle_connections: usize = 256, "upstream-idle-connections",
        "Pooled connections to one endpoint, a worker; more are closed after their request.";
    upstream_requests: usize = 10_000, "upstream-requests",
        "Requests that wait for or talk to one backend at the same time, a worker; more are answered with 503. \
         Keeps one slow backend from taking every connection.";
    h2_ping: Duration = Duration::from_secs(60), "h2-ping",
        "Silence of an HTTP/2 client with open streams, after which it is asked whether it lives: a stream of gRPC may \
         be silent for as long as its users like, and its client be gone.";
    h2_ping_timeout: Duration = Duration::from_secs(20), "h2-ping-timeout",
        "Waiting for the answer to that; then the connection and its streams end.";
    replay_bytes: Bytes = Bytes(64 << 10), "replay-bytes",
        "How much of a request's body is kept until its answer begins, to be sent anew where the rule retries, or an \
         HTTP/2 endpoint says that it did not process it. Room for most gRPC calls; a longer request is not retried.";
    copied_bytes: Bytes = Bytes(64 << 20), "copied-bytes",
        "Bodies that are kept to be sent anew or on their way to mirrors, all of a worker together. Beyond it further \
         requests are not retried and lose their copies.";
    upstream_h2_streams: usize = 100, "upstream-h2-streams",
        "Requests that share an HTTP/2 connection to an endpoint; more open another one, as they do where the \
         endpoint allows fewer. RFC 9113 advises endpoints to allow no fewer than 100.";
    upstream_h2_window_bytes: Bytes = Bytes(256 << 10), in WINDOWS, "upstream-h2-window-bytes",
        "Flow-control window of a stream to an endpoint: how much of an answer waits in memory for a slow client.";
    upstream_h2_connection_window_bytes: Bytes = Bytes(16 << 20), in WINDOWS, "upstream-h2-connection-window-bytes",
        "Flow-control window of an HTTP/2 connection to an endpoint. Room for as many slow clients as have a full \
         stream window each, so that they do not stop the others.";
    upstream_h2_idle_timeout: Duration = Duration::from_secs(60), "upstream-h2-idle-timeout",
        "An HTTP/2 connection to an endpoint without a request. Longer than for HTTP/1: an endpoint that closes one \
         says first which requests it will not take.";
    upstream_h2_ping: Duration = Duration::from_secs(360), "upstream-h2-ping",
        "Silence of an endpoint that owes answers over HTTP/2, after which it is asked whether it lives. Longer than \
         the five minutes below which gRPC servers take pings for abuse.";
    upstream_h2_ping_timeout: Duration = Duration::from_secs(20), "upstream-h2-ping-timeout",
        "Waiting for the answer to that; then the connection and its requests end.";
    mirror_requests: usize = 1_000, "mirror-requests",
        "Copies of requests on their way to mirrors, a worker; there are no more. Keeps slow mirrors from taking every \
         connection.";
    mirror_bytes: Bytes = Bytes(256 << 10), "mirror-bytes",
        "How much of a body waits in memory for a mirror; a slower one loses its copy, so that it never slows the \
         request.";
    mirror_timeout: Duration = Duration::from_secs(15), "mirror-timeout",
        "Answering a copy, once it was taken. Nobody waits for the answer; bounds what a mirror that hangs holds.";
    auth_timeout: Duration = Duration::from_secs(10), "auth-timeout",
        "Asking a service whether a request may pass, connecting included; then 504. Longer than such services take, and \
         short enough to tell a client that still waits.";
    auth_answer_bytes: Bytes = Bytes(64 << 10), "auth-answer-bytes",
        "How much of that service's answer is passed on to a client whose request may not pass; of a longer one only \
         status and fields are.";
    upstream_head_bytes: Bytes = Bytes(64 << 10), in HEADS, "upstream-head-bytes",
        "Status line and fields of an answer; more is answered with 502.";
    interim_responses: usize = 16, "interim-responses",
        "Answers with status 1xx that a backend may send before the final one; more is answered with 502.";
    h2_streams: usize = 128, "h2-streams",
        "Concurrent streams of an HTTP/2 connection. RFC 9113 advises no fewer than 100.";
    h2_resets: usize = 100, "h2-resets",
        "Streams of an HTTP/2 connection that the client resets, or makes us reset, before their answer ended, in \
         any ten seconds; more end the connection. Bounds rapid reset and MadeYouReset.";
    h2_control_frames: usize = 10_000, "h2-control-frames",
        "Frames of an HTTP/2 connection that carry no request (SETTINGS, PING, PRIORITY, CONTINUATION, unknown \
         ones) in any ten seconds; more end the connection. Far above what clients send to measure their latency.";
    h2_window_bytes: Bytes = Bytes(256 << 10), in WINDOWS, "h2-window-bytes",
        "Flow-control window of an HTTP/2 stream: how much of a request's body waits in memory for a slow backend.";
    h2_connection_window_bytes: Bytes = Bytes(1 << 20), in WINDOWS, "h2-connection-window-bytes",
        "Flow-control window of an HTTP/2 connection, for all its streams together.";
    h3_streams: usize = 128, "h3-streams",
        "Concurrent requests of an HTTP/3 connection. RFC 9114 advises no fewer than 100.";
    h3_resets: usize = 100, "h3-resets",
        "Requests of an HTTP/3 connection that the client cancels, or makes us cancel, before their answer ended, in any \
         ten seconds; more end the connection.";
    h3_control_frames: usize = 10_000, "h3-control-frames",
        "Frames and streams of an HTTP/3 connection that carry no request, in any ten seconds; more end the connection.";
    h3_window_bytes: Bytes = Bytes(256 << 10), in WINDOWS, "h3-window-bytes",
        "Flow-control window of an HTTP/3 request: how much of its body waits in memory for a slow backend.";
    h3_connection_window_bytes: Bytes = Bytes(1 << 20), in WINDOWS, "h3-connection-window-bytes",
        "Flow-control window of an HTTP/3 connection, for all its requests together.";
    h3_send_bytes: Bytes = Bytes(1 << 20), in WINDOWS, "h3-send-bytes",
        "What an HTTP/3 connection keeps of answers until the client has acknowledged it. Room for 80 Mbit/s at a round \
         trip of 100 ms; bounds what clients hold that read nothing.";
    quic_handshakes: usize = 256, "quic-handshakes",
        "QUIC handshakes of clients that have not shown their address to be theirs, a port and worker; while there are \
         more, clients are asked to show it first (Retry). Bounds what forged addresses cost.";
    drain_idle_timeout: Duration = Duration::from_secs(5), "drain-idle-timeout",
        "A client connection without a request while the proxy drains. Long enough that a request under way still \
         finds it open.";
    revoked_client_time: Duration = Duration::from_secs(60), "revoked-client-time",
        "A connection whose client certificate is of an authority that is trusted no more: what runs on it may end in \
         this time; it takes nothing new.";
    accept_pause: Duration = Duration::from_millis(100), "accept-pause",
        "Pause of accepting after the system refused a connection for want of file descriptors or memory.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_can_be_set_by_its_name() {
        let mut limits = Limits::default();
        for info in Limits::table() {
            let value = match info.default {
                LimitValue::Time(_) => "1s",
                LimitValue::Bytes(_) => "4Ki",
                LimitValue::Count(_) => "7",
            };
            assert_eq!(limits.set(info.name, value), Ok(()), "{}", info.name);
        }
        assert_eq!(limits.head_timeout, Duration::from_secs(1));
        assert_eq!(limits.head_bytes, Bytes(4096));
        assert_eq!(limits.h2_streams, 7);
    }

    #[test]
    fn a_value_without_its_unit_is_refused() {
        let mut limits = Limits::default();
        for (name, value) in
            [("head-timeout", "10"), ("head-timeout", "1d"), ("h2-streams", "0"), ("h2-resets", "-1")]
        {
            assert!(matches!(limits.set(name, value), Err(LimitError::Malformed { .. })), "{name}={value}");
        }
        assert_eq!(limits.set("nonsense", "1"), Err(LimitError::Unknown("nonsense".into())));
        assert_eq!(limits, Limits::default());
    }

    /// A head that holds no request line, or a window that takes no byte, would refuse everything.
    #[test]
    fn a_limit_that_is_too_small_to_work_is_refused_with_its_range() {
        let said =
            |name: &str, value: &str| Limits::default().set(name, value).map_err(|error| error.to_string());
        assert_eq!(said("head-bytes", "1"), Err("head-bytes must be from 1Ki to 16Mi, not 1".to_owned()));
        assert_eq!(
            said("head-bytes", "17Mi"),
            Err("head-bytes must be from 1Ki to 16Mi, not 17Mi".to_owned())
        );
        assert_eq!(
            said("upstream-head-bytes", "0"),
            Err("upstream-head-bytes must be from 1Ki to 16Mi, not 0".to_owned())
        );
        assert_eq!(
            said("h2-window-bytes", "2Gi"),
            Err("h2-window-bytes must be from 1Ki to 2097151Ki, not 2Gi".to_owned())
        );
        assert_eq!((said("head-bytes", "1Ki"), said("body-bytes", "0")), (Ok(()), Ok(())));
    }

    /// A pooled connection must not be used while a common backend is closing it.
    #[test]
    fn upstream_idle_is_shorter_than_common_backends() {
        assert!(Limits::default().upstream_idle_timeout < Duration::from_secs(5));
    }
}
