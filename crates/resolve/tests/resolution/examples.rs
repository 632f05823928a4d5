//! The Gateway API's own examples, each with the verdict that the specification gives it.
//!
//! `examples.yaml` lists every file of the module's `examples/` folder, alone or with those it is meant to be
//! applied with. Classes that a file leaves to the cluster are another vendor's, as from files any class is ours.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portcullis_api::{Kind, Object, ObjectKey, admit};
use portcullis_golang::GATEWAY_API;
use portcullis_resolve::{Engine, Resolved, Status, resolve};
use portcullis_store::{Change, Report, Store};
use serde_json::{Value, json};

use crate::{expect, invariants};

/// Every example is let in and gets the specification's verdict; what has no parent in its file gets none.
#[test]
fn every_example_has_its_verdict() {
    let Some(folder) = examples() else { return };
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples.yaml");
    let entries: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(table).unwrap()).unwrap();
    let (mut judged, mut failures) = (BTreeSet::new(), Vec::new());
    for entry in &entries {
        let list = |name: &str| entry[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        let together: Vec<&str> = list("files").collect();
        let alone = list("each").map(|file| vec![file]);
        for files in alone.chain([together]).filter(|files| !files.is_empty()) {
            let found = judge(&folder, &files, &entry["expect"]);
            failures.extend(found.into_iter().map(|failure| format!("{}: {failure}", files.join(" "))));
            judged.extend(files.into_iter().map(str::to_owned));
        }
    }
    let all: BTreeSet<String> = yaml_files(&folder, "").into_iter().collect();
    failures.extend(all.difference(&judged).map(|file| format!("{file} is not judged")));
    failures.extend(judged.difference(&all).map(|file| format!("{file} is no example")));
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn judge(folder: &Path, files: &[&str], expected: &Value) -> Vec<String> {
    let mut store = Store::new();
    store.apply([Change::Report(Report::DefaultAddresses(["10.0.0.1".parse().unwrap()].into()))]);
    let mut failures = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        for document in documents.into_iter().filter(|document| !document.is_null()) {
            match admitted(document) {
                Ok(object) => drop(store.apply([Change::Put(object)])),
                Err(why) => failures.push(why),
            }
        }
    }
    store.apply(missing_classes(&store));
    let resolved = resolve(&store, &Engine::native_from_files().assuming_bound());
    failures.extend(expect::check(expected, &resolved));
    failures.extend(invariants::broken(&resolved, &store));
    failures.extend(unexpected(&resolved, expected));
    failures
}

fn admitted(mut document: Value) -> Result<Object, String> {
    let metadata = &mut document["metadata"];
    let name = metadata["name"].to_string();
    let kind = document["kind"].as_str().unwrap_or_default();
    let namespaced = Kind::ALL.iter().any(|known| known.as_str() == kind && known.is_namespaced());
    if namespaced && document["metadata"]["namespace"].is_null() {
        document["metadata"]["namespace"] = json!("default");
    }
    let admitted = admit(document);
    let why: Vec<String> = admitted.diagnostics.iter().map(ToString::to_string).collect();
    admitted.object.ok_or_else(|| format!("{name} is refused: {}", why.join("; ")))
}

fn missing_classes(store: &Store) -> Vec<Change> {
    let names: BTreeSet<String> = store
        .list(Kind::Gateway)
        .filter_map(|object| match object {
            Object::Gateway(gateway) => Some(gateway.spec.gateway_class_name.to_string()),
            _ => None,
        })
        .collect();
    let missing = names
        .into_iter()
        .filter(|name| store.get(&ObjectKey::new(Kind::GatewayClass, "", name.as_str())).is_none());
    let class = |name: String| {
        admitted(json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": name},
            "spec": {"controllerName": "acme.io/gateway-controller"},
        }))
    };
    missing.map(|name| Change::Put(class(name).unwrap())).collect()
}

/// Statuses that the table does not name; classes are named by none, and a route without parents of ours has none.
fn unexpected(resolved: &Resolved, expected: &Value) -> Vec<String> {
    let named: BTreeSet<ObjectKey> = expected
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, _)| crate::given::key_of(name).ok())
        .collect();
    let said = resolved.statuses.iter().filter(|(key, status)| {
        let empty = match &***status {
            Status::GatewayClass(_) => true,
            Status::Route(status) => status.parents.is_empty(),
            Status::Policy(status) => status.ancestors.is_empty(),
            Status::Gateway(_) | Status::ListenerSet(_) => false,
        };
        !empty && !named.contains(key)
    });
    said.map(|(key, status)| format!("{key} is not in the table: {status:?}")).collect()
}

/// The folder of examples; nothing without Go.
fn examples() -> Option<PathBuf> {
    portcullis_golang::is_usable().then(|| GATEWAY_API.folder().unwrap().join("examples"))
}

/// The YAML files under a folder, by their paths in it.
fn yaml_files(root: &Path, under: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(under)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if under.is_empty() { name } else { format!("{under}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            found.extend(yaml_files(root, &path));
        } else if Path::new(&path).extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    found
}
