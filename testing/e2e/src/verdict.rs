//! How a request was handled, in one form: as the proxy did it, and as `explain` foretold it.

use serde_json::Value;

use crate::http::Answer;

/// What a proxy answers for a backend outside that is not up, which no reading of files can know.
pub const DOWN: &str = "503 connect_refused";

/// The header that the proxies of these tests explain themselves in.
pub const WHY: &str = "x-why";

/// What both sides can say of a request; `-` stands for what there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The listener, such as `Gateway/default/web/http`.
    pub listener: String,
    /// The route, such as `HTTPRoute/default/shop`.
    pub route: String,
    /// The rule's place in the route.
    pub rule: String,
    /// The status with its reason or `Location` where the proxy answers itself; elsewhere who answered, and the host
    /// and path that it saw.
    pub outcome: String,
}

impl Verdict {
    /// Of an answer whose header [`WHY`] is the proxy's explanation, and whose body, if a backend made it, is the
    /// request as JSON.
    #[must_use]
    pub fn met(answer: &Answer) -> Verdict {
        let why = answer.header(WHY).unwrap_or_else(|| panic!("not explained: {answer:?}"));
        let part = |name: &str| {
            let mut parts = why.split("; ").filter_map(|part| part.split_once('='));
            parts
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
                .expect("every part is there")
        };
        let outcome = match part("reason").as_str() {
            "ok" => forwarded(answer, &part("endpoint")),
            "redirect" => format!("{} {}", answer.status, answer.header("location").unwrap_or("-")),
            reason => format!("{} {reason}", answer.status),
        };
        Verdict { listener: part("listener"), route: part("route"), rule: part("rule"), outcome }
    }

    /// Of what `explain -o json` said. Of several backends it is the one that was met, if that is among them.
    #[must_use]
    pub fn foretold(said: &Value, met: &Verdict) -> Verdict {
        let listener = match said["listener"].is_object() {
            true => format!("{}/{}", name(&said["listener"]["owner"]), text(&said["listener"]["name"])),
            false => "-".to_owned(),
        };
        let rule = said["rule"]["index"].as_u64().map_or_else(|| "-".to_owned(), |index| index.to_string());
        Verdict { listener, route: name(&said["route"]), rule, outcome: outcome(said, met) }
    }
}

/// The Service that a stand-in stands for, or else the endpoint, with what it saw.
fn forwarded(answer: &Answer, endpoint: &str) -> String {
    let seen: Value = serde_json::from_slice(&answer.body).expect("a backend answers with JSON");
    let who = seen["service"].as_str().unwrap_or(endpoint);
    format!("{who} {} {}", text(&seen["host"]), text(&seen["path"]))
}

fn outcome(said: &Value, met: &Verdict) -> String {
    let status = &said["status"];
    match text(&said["outcome"]) {
        "redirect" => format!("{status} {}", text(&said["location"])),
        "forward" if met.outcome == DOWN => DOWN.to_owned(),
        "forward" => {
            let mut all: Vec<String> = items(&said["backends"]).iter().flat_map(backend).collect();
            if let Some(reason) = said["reason"].as_str() {
                all.push(format!("{status} {reason}"));
            }
            all.iter().find(|one| **one == met.outcome).cloned().unwrap_or_else(|| all.join(" or "))
        }
        _ => format!("{status} {}", text(&said["reason"])),
    }
}

/// A backend by its Service and by each of its endpoints, with the host and path that it would see.
fn backend(backend: &Value) -> Vec<String> {
    let object = &backend["object"];
    let service = format!("{}/{}", text(&object["namespace"]), text(&object["name"]));
    let endpoints = items(&backend["endpoints"]).iter().map(|endpoint| text(&endpoint["address"]).to_owned());
    let seen = format!("{} {}", text(&backend["host"]), text(&backend["path"]));
    std::iter::once(service).chain(endpoints).map(|who| format!("{who} {seen}")).collect()
}

fn name(object: &Value) -> String {
    match object.is_object() {
        true => format!("{}/{}/{}", text(&object["kind"]), text(&object["namespace"]), text(&object["name"])),
        false => "-".to_owned(),
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}
