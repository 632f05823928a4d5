//! Asking the referee: objects in, verdicts out; YAML in, documents out.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::go;

/// The Go program in `testing/admission` and the CRDs it judges by.
#[derive(Debug)]
pub struct Referee {
    program: PathBuf,
    crds: Vec<PathBuf>,
}

/// What the API server says to an object.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Whether it takes the object.
    pub allowed: bool,
    /// Why it does not.
    pub causes: Vec<Cause>,
    /// The object with its defaults, without what is unknown.
    #[serde(default)]
    pub defaulted: Value,
    /// The paths of what is unknown.
    pub unknown_fields: Vec<String>,
}

/// One reason to refuse an object.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Cause {
    /// The field, such as `spec.rules[0].name`.
    pub path: String,
    /// The API server's kind of error, such as `FieldValueRequired`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    pub message: String,
}

/// One YAML document of a file, as kubectl reads it.
#[derive(Clone, Debug, Deserialize)]
pub struct Document {
    /// The file it stands in.
    pub file: PathBuf,
    /// What it holds; null where it is no YAML.
    #[serde(default)]
    pub object: Value,
}

/// The CRDs of the kinds that portcullis-api has, by plural.
const KINDS: [&str; 10] = [
    "backendtlspolicies",
    "gatewayclasses",
    "gateways",
    "grpcroutes",
    "httproutes",
    "listenersets",
    "referencegrants",
    "tcproutes",
    "tlsroutes",
    "udproutes",
];

impl Referee {
    /// The referee over the CRDs of both channels' fields, or nothing where there is no Go.
    pub fn find() -> Option<Self> {
        if !go::is_usable() {
            return None;
        }
        let experimental = go::GATEWAY_API.folder().unwrap().join("config/crd/experimental");
        let mut crds: Vec<PathBuf> = KINDS
            .iter()
            .map(|plural| experimental.join(format!("gateway.networking.k8s.io_{plural}.yaml")))
            .collect();
        crds.push(go::Module::envoy_gateway_crd("backends").unwrap());
        Some(Self { program: go::build_referee(), crds })
    }

    /// The files it judges by.
    pub fn crds(&self) -> &[PathBuf] {
        &self.crds
    }

    /// The verdict on each object, in order. Equal objects are judged once.
    pub fn judge<'a>(&self, objects: impl IntoIterator<Item = &'a Value>) -> Vec<Verdict> {
        let mut distinct = Vec::new();
        let mut known = HashMap::new();
        let numbers: Vec<usize> = objects
            .into_iter()
            .map(|object| {
                *known.entry(object.to_string()).or_insert_with(|| {
                    distinct.push(object);
                    distinct.len() - 1
                })
            })
            .collect();
        let verdicts = self.judge_distinct(&distinct);
        numbers.into_iter().map(|number| verdicts[number].clone()).collect()
    }

    fn judge_distinct(&self, objects: &[&Value]) -> Vec<Verdict> {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let share = objects.len().div_ceil(workers).max(1);
        thread::scope(|scope| {
            let shares: Vec<_> =
                objects.chunks(share).map(|objects| scope.spawn(|| self.judge_share(objects))).collect();
            shares.into_iter().flat_map(|share| share.join().unwrap()).collect()
        })
    }

    fn judge_share(&self, objects: &[&Value]) -> Vec<Verdict> {
        let mut child = Command::new(&self.program)
            .arg("judge")
            .args(&self.crds)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut questions = BufWriter::new(child.stdin.take().unwrap());
        let answers = BufReader::new(child.stdout.take().unwrap());
        let verdicts: Vec<Verdict> = thread::scope(|scope| {
            scope.spawn(move || {
                for object in objects {
                    writeln!(questions, "{object}").unwrap();
                }
            });
            lines(answers)
        });
        assert!(child.wait().unwrap().success());
        assert_eq!(verdicts.len(), objects.len(), "an answer for each object");
        verdicts
    }

    /// The documents of YAML files, in order; a document that is no YAML is null.
    pub fn read<P: AsRef<Path>>(&self, files: &[P]) -> Vec<Document> {
        let mut command = Command::new(&self.program);
        command.arg("read").args(files.iter().map(AsRef::as_ref)).stderr(Stdio::inherit());
        let output = command.output().unwrap();
        assert!(output.status.success());
        lines(output.stdout.as_slice())
    }
}

fn lines<T: DeserializeOwned>(from: impl BufRead) -> Vec<T> {
    from.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}
