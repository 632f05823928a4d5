//! Which listener, route, rule, filters and endpoints a request meets, and why not the others.
//!
//! Nothing here decides: listeners and rules are looked up in the proxy's own tables, redirects and rewrites are
//! computed by the proxy's own functions.
//!
//! Read in this order: [`question`] (what is asked), [`entrance`] (which port and listener), [`action`] (what the
//! rule does), [`running`] (what a running proxy knows better), [`candidates`] (why not another rule), [`nearest`] (what
//! nearly took it), [`mod@text`] (for a person), [`below`] (the same for connections and datagrams), [`command`] (the
//! command line).

mod action;
mod answer;
mod below;
mod candidates;
mod command;
mod entrance;
mod nearest;
mod question;
mod running;
#[cfg(test)]
mod tests;
mod text;

use portcullis_model::{Action, ListenerFilters, Model};
use portcullis_proxy::Reason;
use portcullis_routing::{ListenerTable, Matched, Preflight, Request, Scheme};

pub(crate) use command::Explain;

use answer::{Answer, Refused};
use entrance::Entrance;
use question::Question;
use text::text;

/// What becomes of a request, and why.
fn explain(model: &Model, question: &Question) -> Answer {
    let mut answer = Answer::to(question);
    match follow(model, question, &mut answer) {
        Ok(()) if question.is_grpc() => answer.tell_in_grpc(),
        Ok(()) => {}
        Err(refused) => {
            if refused.may_be_a_slip() {
                answer.nearest = nearest::misses(model, question, &answer);
            }
            answer.refuse(refused, question.is_grpc());
        }
    }
    answer
}

/// Goes the request's way, and notes what it meets.
fn follow(model: &Model, question: &Question, answer: &mut Answer) -> Result<(), Refused> {
    let entrance = Entrance::find(model, question)?;
    answer.address = Some(entrance.address.to_string());
    let connection = entrance.connect(question, answer)?;
    let host = question.host()?;
    let path = question.canonical_path()?;
    answer.request.path = path.clone().into_owned();
    let table = entrance.listener(question, connection.as_deref(), &host, answer)?;
    let listener = table.listener();
    answer.meet_listener(listener);
    let filtered;
    let question = match &listener.filters {
        ListenerFilters::Fail(failure) => {
            let message = failure.message.as_ref().to_owned();
            return Err(Refused::with(failure.status, failure.reason.into(), message));
        }
        ListenerFilters::Ask(asked) if asked.is_empty() => question,
        ListenerFilters::Ask(asked) => {
            answer.listener_filters = asked.iter().map(|auth| action::view_of_auth(auth, &path)).collect();
            filtered = question.filtered(asked);
            &filtered
        }
    };
    let asked = || Request::new(&host, &path, question.query(), &question.method, &question.headers[..]);
    let preflight = Preflight::of(&question.method, &question.headers[..])
        .filter(|preflight| table.lookup(&asked().announced(*preflight)).is_some_and(answers_preflight));
    let request = preflight.map_or_else(asked, |preflight| asked().announced(preflight));
    let traced = table.lookup_traced(&request);
    answer.candidates = candidates::of(&traced, table, &request);
    let matched = traced.matched.ok_or_else(|| no_rule(table, answer.candidates.len()))?;
    answer.meet_rule(&matched);
    action::note(model, question, listener, &matched, &request, answer);
    if preflight.is_some() {
        action::note_preflight(question, matched.entry().rule(), answer);
    }
    Ok(())
}

/// Whether a rule answers the preflight requests of those that it takes.
fn answers_preflight(matched: Matched<'_, ()>) -> bool {
    let rule = matched.entry().rule();
    rule.cors().is_some() && !matches!(rule.action, Action::Fail(_))
}

fn no_rule(table: &ListenerTable<()>, rules: usize) -> Refused {
    let listener = table.listener();
    let message = match (listener.routes.len() + listener.grpc_routes.len(), rules) {
        (0, _) => format!("no route is attached to listener {}", listener.id),
        (_, 0) => format!("no route of listener {} has a hostname that takes the host", listener.id),
        (_, _) => format!("no rule of listener {} takes the request", listener.id),
    };
    Refused::with(404, Reason::NoRule, message)
}

/// The name of a scheme in URLs.
fn scheme_name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    }
}
