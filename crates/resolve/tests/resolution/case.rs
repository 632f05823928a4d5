//! A case: objects, and what is expected of them, in steps.

use portcullis_resolve::{Engine, NATIVE_CONTROLLER, Protocol, Resolver, Source, resolve};
use portcullis_store::Store;
use serde_json::Value;

use crate::{expect, given, invariants};

pub(crate) struct Case {
    pub(crate) name: String,
    engine: Engine,
    steps: Vec<Step>,
}

struct Step {
    given: Value,
    reports: Value,
    remove: Vec<String>,
    expect: Value,
}

const KEYS: [&str; 7] = ["name", "engine", "given", "reports", "remove", "expect", "then"];

impl Case {
    pub(crate) fn read_all(text: &str) -> Result<Vec<Case>, String> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
        documents.iter().filter(|document| !document.is_null()).map(Case::read).collect()
    }

    fn read(document: &Value) -> Result<Case, String> {
        let name = document["name"].as_str().ok_or("a case has no name")?.to_owned();
        let mut steps = vec![Step::read(document).map_err(|error| format!("{name}: {error}"))?];
        for step in document["then"].as_array().into_iter().flatten() {
            steps.push(Step::read(step).map_err(|error| format!("{name}: {error}"))?);
        }
        let engine = engine(&document["engine"]).map_err(|error| format!("{name}: {error}"))?;
        Ok(Case { name, engine, steps })
    }

    /// What does not hold.
    pub(crate) fn run(&self) -> Vec<String> {
        let mut store = Store::new();
        store.apply(given::defaults());
        let mut resolver = Resolver::new(self.engine.clone(), &store);
        let mut failures = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let changes = match given::changes(&step.given, &step.reports, &step.remove) {
                Ok(changes) => changes,
                Err(error) => return vec![format!("step {index}: {error}")],
            };
            let changes = store.apply(changes);
            resolver.update(&store, &changes);
            let fresh = resolve(&store, &self.engine);
            if let Some(difference) = expect::difference(resolver.resolved(), &fresh) {
                failures.push(format!("step {index}: update differs from a rebuild: {difference}"));
            }
            let found = expect::check(&step.expect, &fresh);
            let broken = invariants::broken(&fresh, &store);
            failures
                .extend(found.into_iter().chain(broken).map(|failure| format!("step {index}: {failure}")));
        }
        failures
    }
}

/// The native engine over files, with every port bound; the words change that.
fn engine(words: &Value) -> Result<Engine, String> {
    let mut engine = Engine::native_from_files().assuming_bound();
    for word in words.as_array().into_iter().flatten() {
        match word.as_str() {
            Some("cluster") => engine.source = Source::Cluster(vec![NATIVE_CONTROLLER.into()]),
            Some("serving") => engine.assume_bound = false,
            Some("without-http3") => {
                engine.capabilities.protocols.retain(|protocol| *protocol != Protocol::Http3);
            }
            _ => return Err(format!("{word} is no word about the engine")),
        }
    }
    Ok(engine)
}

impl Step {
    fn read(document: &Value) -> Result<Step, String> {
        let fields = document.as_object().ok_or("a step is no mapping")?;
        if let Some(unknown) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("{unknown} is no part of a case"));
        }
        let remove = document["remove"].as_array().into_iter().flatten();
        Ok(Step {
            given: document["given"].clone(),
            reports: document["reports"].clone(),
            remove: remove.filter_map(|key| key.as_str().map(str::to_owned)).collect(),
            expect: document["expect"].clone(),
        })
    }
}
