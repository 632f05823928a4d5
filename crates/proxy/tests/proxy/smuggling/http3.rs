//! The same over HTTP/3, from the cases of [`http2`](super::http2): what differs is the framing, not what must not pass.

use super::Stage;
use super::http2::{Case, cases};
use super::recorder::Recorder;
use crate::support::http3::{Http3, frame, section};
use crate::support::tls::{Authority, http3};
use crate::support::{Gateway, Rules, Running};

const DATA: u8 = 0;
const HEADERS: u8 = 1;

#[test]
fn no_field_of_a_stream_becomes_framing() {
    let (recorder, authority) = (Recorder::start(), Authority::new());
    let gateway = Gateway::new()
        .listener("a", http3(authority.https(&["a"])), Rules::new().to("/", "web"))
        .http("bystander", Rules::new().to("/", "web"))
        .backend("web", &[recorder.address]);
    let stage = Stage { running: Running::start(&gateway), recorder };
    for Case { name, fields, body, served } in cases() {
        // Nothing takes the fragment away before the path is looked at, so that it is refused.
        let served = served.filter(|_| !name.contains("fragment"));
        let client = Http3::connect(stage.running.quic(), "a", authority.client(&["h3"])).unwrap();
        let mut bytes = frame(HEADERS, &section(&fields));
        if !body.is_empty() {
            bytes.extend_from_slice(&frame(DATA, body.as_bytes()));
        }
        let heard = client.raw(&bytes);
        if let Some(message) = &served {
            let heard = heard.unwrap();
            assert!(String::from_utf8_lossy(&heard).ends_with(&message.echoed()), "{name}: {heard:?}");
        }
        assert_eq!(stage.recorder.taken(), served.into_iter().collect::<Vec<_>>(), "{name}");
        stage.bystander(name);
    }
}
