//! What nearly took a request that nothing takes.

use std::collections::BTreeSet;

use portcullis_model::{HostPattern, Model};

use super::answer::{Answer, ListenerView};
use super::candidates::Candidate;
use super::question::Question;

/// How many are told.
const TOLD: usize = 5;
/// How many letters may differ for a name to be taken for a slip of the pen.
const SLIP: usize = 2;

/// A miss, and how far it was; the nearest is the least.
type Miss = (usize, String);

/// What nearly took the request, the nearest first.
pub(super) fn misses(model: &Model, question: &Question, answer: &Answer) -> Vec<String> {
    let mut misses: BTreeSet<Miss> =
        answer.candidates.iter().filter_map(|one| by_rule(one, answer)).collect();
    if answer.candidates.is_empty() {
        misses.extend(by_host(model, question, &answer.request.host));
    }
    misses.into_iter().take(TOLD).map(|(_, told)| told).collect()
}

/// A rule of the host that nearly took it.
fn by_rule(candidate: &Candidate, answer: &Answer) -> Option<Miss> {
    let (route, rule) = (&candidate.route, candidate.rule.index);
    let rule = format!("{} {}/{} rule {rule}", route.kind, route.namespace, route.name);
    if candidate.by != "path" {
        return Some((0, format!("{rule} has the path; {}", candidate.detail)));
    }
    let (want, got) = (candidate.matched.path.value.as_str(), answer.request.path.as_str());
    let near = match candidate.matched.path.kind {
        "Exact" if want.trim_end_matches('/') == got.trim_end_matches('/') => "a trailing slash differs",
        "Exact" | "PathPrefix" if starts_with_ignoring_case(got, want) => "upper and lower case differ",
        "Exact" if slip(want, got) => "a letter or two differ",
        "PathPrefix" if got.get(..want.len()).is_some_and(|head| slip(want, head)) => {
            "a letter or two differ"
        }
        _ => return None,
    };
    Some((1, format!("{rule} wants the path {want}: {near}")))
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    let head = text.get(..prefix.len());
    head.is_some_and(|head| head != prefix && head.eq_ignore_ascii_case(prefix))
}

/// Listeners and routes whose hostname nearly takes the host, and listeners of other ports that do take it.
fn by_host(model: &Model, question: &Question, host: &str) -> Vec<Miss> {
    let mut misses = Vec::new();
    for listener in model.ports.values().flat_map(|port| &port.listeners) {
        let view = ListenerView::of(listener);
        let name = format!("listener {} ({} port {})", listener.id, view.protocol, listener.port);
        if listener.hostname.matches(host) {
            if Some(listener.port) != question.listener_port() {
                misses.push((1, format!("{name} takes the host {host}")));
            }
        } else if let Some(distance) = distance(&listener.hostname, host) {
            misses.push((1 + distance, format!("{name} takes {}, not {host}", listener.hostname)));
        }
        for route in listener.routes.iter().filter(|_| Some(listener.port) == question.listener_port()) {
            for hostname in &route.hostnames {
                if let Some(distance) = distance(hostname, host) {
                    misses.push((1 + distance, format!("{} takes {hostname}, not {host}", route.origin)));
                }
            }
        }
    }
    misses
}

/// How many letters of a host differ from what a pattern wants, if it may be a slip of the pen.
fn distance(pattern: &HostPattern, host: &str) -> Option<usize> {
    let distance = match pattern {
        HostPattern::Any => return None,
        HostPattern::Exact(name) => strsim::damerau_levenshtein(name.as_str(), host),
        HostPattern::Suffix(name) if name.as_str() == host => 1, // `*.e.com` does not take `e.com`
        HostPattern::Suffix(name) => {
            let labels = name.as_str().split('.').count();
            let tail: Vec<&str> = host.rsplit('.').take(labels).collect();
            let tail = tail.into_iter().rev().collect::<Vec<_>>().join(".");
            strsim::damerau_levenshtein(name.as_str(), &tail)
        }
    };
    (1..=SLIP).contains(&distance).then_some(distance)
}

fn slip(want: &str, got: &str) -> bool {
    (1..=SLIP).contains(&strsim::damerau_levenshtein(want, got))
}
