//! A small universe of objects, and random edits of it.
//!
//! An edit is an object's name and a list of picks; a picked 0, or a missing pick, is the plainest choice, so that a
//! failure shrinks to plain objects.

mod gateways;
mod others;
mod routes;

use std::fmt;

use portcullis_store::Change;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::given;

/// One edit.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// A place among the subjects, counted round.
    pub(crate) subject: usize,
    pub(crate) picks: Vec<u8>,
}

/// Picks, used up one by one.
pub(crate) struct Picks<'a> {
    left: std::slice::Iter<'a, u8>,
}

impl Picks<'_> {
    /// One of the options; the first where picks have run out.
    pub(crate) fn of<'o, T>(&mut self, options: &'o [T]) -> &'o T {
        let pick = usize::from(self.left.next().copied().unwrap_or(0));
        &options[pick % options.len()]
    }

    /// One of the values.
    pub(crate) fn value(&mut self, options: Value) -> Value {
        let Value::Array(mut options) = options else { return options };
        let pick = usize::from(self.left.next().copied().unwrap_or(0));
        options.swap_remove(pick % options.len())
    }

    /// Whether this time, which is so once in `odds`.
    pub(crate) fn chance(&mut self, odds: u8) -> bool {
        self.left.next().is_some_and(|pick| *pick % odds == odds - 1)
    }
}

/// What an edit is about: an object, how to make one, and how often it is chosen.
struct Subject {
    key: &'static str,
    make: fn(&'static str, &mut Picks<'_>) -> Value,
    weight: usize,
}

const SUBJECTS: &[Subject] = &[
    Subject { key: "Gateway/gw", make: gateways::gateway, weight: 6 },
    Subject { key: "Gateway/gx", make: gateways::gateway, weight: 3 },
    Subject { key: "Gateway/other/gw", make: gateways::gateway, weight: 3 },
    Subject { key: "ListenerSet/a", make: gateways::listener_set, weight: 3 },
    Subject { key: "ListenerSet/b", make: gateways::listener_set, weight: 3 },
    Subject { key: "ListenerSet/other/a", make: gateways::listener_set, weight: 3 },
    Subject { key: "HTTPRoute/r", make: routes::http_route, weight: 5 },
    Subject { key: "HTTPRoute/s", make: routes::http_route, weight: 5 },
    Subject { key: "HTTPRoute/other/r", make: routes::http_route, weight: 5 },
    Subject { key: "GRPCRoute/g", make: routes::grpc_route, weight: 2 },
    Subject { key: "TLSRoute/n", make: routes::tls_route, weight: 2 },
    Subject { key: "TCPRoute/t", make: routes::tcp_route, weight: 1 },
    Subject { key: "TCPRoute/other/t", make: routes::tcp_route, weight: 1 },
    Subject { key: "UDPRoute/u", make: routes::udp_route, weight: 1 },
    Subject { key: "Service/app", make: others::service, weight: 2 },
    Subject { key: "Service/other/app", make: others::service, weight: 1 },
    Subject { key: "EndpointSlice/app-1", make: others::slice, weight: 1 },
    Subject { key: "Backend/ext", make: others::backend, weight: 4 },
    Subject { key: "BackendTLSPolicy/tls", make: others::policy, weight: 2 },
    Subject { key: "BackendTLSPolicy/more", make: others::policy, weight: 2 },
    Subject { key: "ConfigMap/ca", make: others::authority, weight: 1 },
    Subject { key: "ClusterTrustBundle/ca", make: others::authority, weight: 1 },
    Subject { key: "ReferenceGrant/other/g", make: others::grant, weight: 2 },
    Subject { key: "Secret/cert", make: others::secret, weight: 1 },
    Subject { key: "Secret/other/cert", make: others::secret, weight: 1 },
    Subject { key: "Namespace/other", make: others::namespace, weight: 1 },
    Subject { key: "GatewayClass/portcullis", make: others::class, weight: 1 },
    Subject { key: "GatewayClass/vendor", make: others::class, weight: 2 },
    Subject { key: "report", make: others::report, weight: 4 },
    Subject { key: "report", make: others::bundle_versions, weight: 1 },
    Subject { key: "report", make: others::ancestors, weight: 2 },
];

pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    let subjects: Vec<usize> =
        SUBJECTS.iter().enumerate().flat_map(|(index, subject)| vec![index; subject.weight]).collect();
    (prop::sample::select(subjects), prop::collection::vec(any::<u8>(), 0..48))
        .prop_map(|(subject, picks)| Edit { subject, picks })
}

/// A Gateway with HTTP and HTTPS, a ListenerSet, routes, and where they lead.
pub(crate) fn beginning() -> Vec<Change> {
    let mut changes = given::defaults();
    let plain = [
        "Gateway/gw",
        "ListenerSet/a",
        "HTTPRoute/r",
        "Service/app",
        "Secret/cert",
        "Backend/ext",
        "GatewayClass/vendor",
    ];
    for subject in SUBJECTS.iter().filter(|subject| plain.contains(&subject.key)) {
        let object = (subject.make)(name(subject.key), &mut Picks { left: [].iter() });
        changes.extend(given::changes(&json!([object]), &Value::Null, &[]).unwrap());
    }
    changes
}

fn name(key: &'static str) -> &'static str {
    key.split_once('/').map_or("", |(_, name)| name)
}

impl Edit {
    fn subject(&self) -> &'static Subject {
        &SUBJECTS[self.subject % SUBJECTS.len()]
    }

    /// What the edit says, in the short form of the cases; nothing if it removes the object.
    fn says(&self) -> Option<Value> {
        let subject = self.subject();
        let mut picks = Picks { left: self.picks.iter() };
        let removed = picks.chance(8) && subject.key != "report";
        (!removed).then(|| (subject.make)(name(subject.key), &mut picks))
    }

    /// The changes; nothing where admission would refuse them.
    pub(crate) fn changes(&self) -> Option<Vec<Change>> {
        match self.says() {
            None => given::changes(&Value::Null, &Value::Null, &[self.subject().key.to_owned()]).ok(),
            Some(report) if self.subject().key == "report" => given::changes(&Value::Null, &report, &[]).ok(),
            Some(object) => given::changes(&json!([object]), &Value::Null, &[]).ok(),
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.says() {
            None => write!(f, "remove {}", self.subject().key),
            Some(object) => write!(f, "put {object}"),
        }
    }
}
