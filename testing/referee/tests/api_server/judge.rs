//! Asking an API server what it would say.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
};

use futures::{StreamExt, stream};
use http::StatusCode;
use kube::Client;
use portcullis_referee::{Cause, Verdict, crd::Version};
use serde_json::{Value, json};

use crate::questions::{Answer, Question, ask, key};

/// How many questions are asked at once: enough to keep two cores busy.
const AT_ONCE: usize = 4;

/// An API server that has one small object of every kind.
pub(crate) struct ApiServer {
    client: Client,
    /// The objects, by apiVersion and kind, as they are read in that version.
    stored: BTreeMap<(String, String), Value>,
    /// What was asked before, and the verdict.
    known: RefCell<HashMap<Question, Verdict>>,
}

impl ApiServer {
    /// Stores an object of every kind, whose status can then be replaced in dry runs. Small ones, since each time
    /// all rules over their specs are evaluated.
    pub(crate) async fn begin(client: Client, versions: &[Version], small: &[Value]) -> Self {
        let mut stored = BTreeMap::new();
        for version in versions {
            let object = of_version(version, small);
            let made = ask(&client, &Question::create(&object)).await;
            let is_there = [StatusCode::CREATED, StatusCode::CONFLICT].contains(&made.status);
            assert!(is_there, "{}", made.body);
            stored.insert(key(&object), ask(&client, &Question::read(&object)).await.body);
        }
        Self { client, stored, known: RefCell::default() }
    }

    /// What it says to each object: to its creation, or, if it has a status, to that status on the stored one.
    pub(crate) async fn judge(&self, objects: impl Iterator<Item = &Value>) -> Vec<Verdict> {
        let asked: Vec<_> = objects.map(|object| (object, self.question(object))).collect();
        let distinct: HashSet<_> = asked.iter().map(|(_, question)| question).collect();
        let news = distinct.into_iter().filter(|question| !self.known.borrow().contains_key(question));
        let answers = news.map(async |question| {
            let verdict = verdict(ask(&self.client, question).await);
            self.known.borrow_mut().insert(question.clone(), verdict);
        });
        stream::iter(answers.collect::<Vec<_>>()).buffer_unordered(AT_ONCE).collect::<()>().await;
        asked.into_iter().map(|(object, question)| self.known_of(object, &question)).collect()
    }

    /// How many questions it has answered.
    pub(crate) fn asked(&self) -> usize {
        self.known.borrow().len()
    }

    fn question(&self, object: &Value) -> Question {
        let Some(status) = object.get("status") else { return Question::try_to_create(object) };
        let mut with_status = self.stored[&key(object)].clone();
        with_status["status"] = status.clone();
        Question::try_to_replace(&with_status, "/status")
    }

    fn known_of(&self, object: &Value, question: &Question) -> Verdict {
        let mut verdict = self.known.borrow()[question].clone();
        verdict.defaulted["metadata"] = object["metadata"].clone();
        if object.get("status").is_none() {
            // A dry run of a creation shows no defaults of the status, for it drops the status.
            verdict.defaulted["status"] = self.stored[&key(object)]["status"].clone();
        }
        verdict
    }

    /// The fields for which it refuses to put an object's spec into the stored one.
    pub(crate) async fn replace(&self, object: &Value) -> Vec<String> {
        let mut replaced = self.stored[&key(object)].clone();
        replaced["spec"] = object["spec"].clone();
        let answer = ask(&self.client, &Question::try_to_replace(&replaced, "")).await;
        verdict(answer).causes.into_iter().map(|cause| cause.path).collect()
    }
}

/// The object of this kind, in this version.
pub(crate) fn of_version(version: &Version, objects: &[Value]) -> Value {
    let mut object = objects.iter().find(|object| object["kind"] == *version.kind).unwrap().clone();
    object["apiVersion"] = json!(version.api_version);
    object
}

fn verdict(answer: Answer) -> Verdict {
    let allowed = answer.status.is_success();
    let causes = match answer.status {
        _ if allowed => Vec::new(),
        StatusCode::UNPROCESSABLE_ENTITY => {
            let causes = answer.body["details"]["causes"].as_array().unwrap().iter();
            causes.filter(|told| !is_remark(told)).map(cause).collect()
        }
        _ => vec![Cause {
            path: String::new(),
            kind: "Decode".to_owned(),
            message: answer.body["message"].to_string(),
        }],
    };
    let defaulted = if allowed { answer.body } else { json!({}) };
    Verdict { allowed, causes, defaulted, unknown_fields: answer.unknown.into_iter().collect() }
}

/// Whether it says only that, after a refusal, rules were not looked at.
fn is_remark(told: &Value) -> bool {
    told["message"].as_str().is_some_and(|message| message.contains("some validation rules were not checked"))
}

fn cause(told: &Value) -> Cause {
    let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
    let path = match text("field") {
        field if field == "<nil>" => named_in(&text("message")),
        field if field == "status" && !named_in(&text("message")).is_empty() => {
            format!("status.{}", named_in(&text("message")))
        }
        field => field,
    };
    Cause { path, kind: text("reason"), message: text("message") }
}

/// Of integer formats and of oneOf the message alone names the field, below what is validated.
fn named_in(message: &str) -> String {
    let detail = message.rsplit(": ").next().unwrap_or_default();
    let of_one_of = || detail.strip_prefix('"')?.split_once("\" must validate ").map(|(path, _)| path);
    let of_format =
        || detail.strip_prefix("Checked value must be of type ")?.split_once(" in ").map(|(_, path)| path);
    of_one_of().or_else(of_format).unwrap_or_default().to_owned()
}
