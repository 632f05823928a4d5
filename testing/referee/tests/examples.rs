//! The commands over the Gateway API module's own examples and the suite's manifests: `check` refuses
//! what the API server refuses, and the API server takes every status that `status` shows.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use portcullis_e2e::program;
use portcullis_referee::{
    Referee,
    crd::{self, Version},
    go,
};
use serde_json::{Value, json};

fn manifests() -> Vec<PathBuf> {
    let suite = go::CONFORMANCE.folder().unwrap();
    let folders =
        [go::GATEWAY_API.folder().unwrap().join("examples"), suite.join("base"), suite.join("tests")];
    folders.iter().flat_map(|folder| go::yaml_files(folder)).collect()
}

/// The objects that the CRDs are about, with their files, in the namespaces that kubectl would choose.
fn objects(referee: &Referee, versions: &[Version], files: &[PathBuf]) -> Vec<(PathBuf, Value)> {
    let is_known = |object: &Value| {
        versions.iter().any(|version| {
            object["kind"] == version.kind.as_str() && object["apiVersion"] == version.api_version.as_str()
        })
    };
    let documents = referee.read(files).into_iter().filter(|document| is_known(&document.object));
    documents
        .map(|mut document| {
            let object = &mut document.object;
            if object["kind"] != "GatewayClass" && object["metadata"]["namespace"].is_null() {
                object["metadata"]["namespace"] = json!("default");
            }
            (document.file, document.object)
        })
        .collect()
}

fn said(command: &str, file: &Path) -> Value {
    let output = program::output([Path::new(command), Path::new("-o"), Path::new("json"), file]);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{command} {}: {error}: {output:?}", file.display()))
}

#[test]
fn check_refuses_what_the_api_server_refuses() {
    let Some(referee) = Referee::find() else { return };
    let versions = crd::versions(&referee);
    let files = manifests();
    let objects = objects(&referee, &versions, &files);
    let verdicts = referee.judge(objects.iter().map(|(_, object)| object));
    let refused: BTreeSet<&PathBuf> = objects
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| !verdict.allowed)
        .map(|((file, _), _)| file)
        .collect();
    for file in &files {
        let found = said("check", file);
        let errors: Vec<&Value> = found["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| {
                found["severity"] == "error" && found["code"].as_str().unwrap().starts_with("PC02")
            })
            .collect();
        assert_eq!(!errors.is_empty(), refused.contains(file), "{}: {errors:?}", file.display());
    }
    // The two templates with placeholders.
    let names: Vec<_> = refused.iter().map(|file| file.file_name().unwrap()).collect();
    assert_eq!(names, ["gateway-static-addresses.yaml", "gatewayclass-observed-generation-bump.yaml"]);
}

#[test]
fn the_api_server_takes_every_status_that_we_show() {
    let Some(referee) = Referee::find() else { return };
    let versions = crd::versions(&referee);
    let objects = objects(&referee, &versions, &manifests());
    let mut judged = Vec::new();
    for file in objects.iter().map(|(file, _)| file).collect::<BTreeSet<_>>() {
        for item in said("status", file)["items"].as_array().unwrap() {
            let is_it = |(place, object): &&(PathBuf, Value)| {
                let alike = |part| object["metadata"][part] == item["metadata"][part];
                place == file && object["kind"] == item["kind"] && alike("namespace") && alike("name")
            };
            let (_, object) = objects.iter().find(is_it).unwrap();
            let mut object = object.clone();
            object["status"] = item["status"].clone();
            judged.push((file, object));
        }
    }
    println!("{} statuses", judged.len());
    assert!(judged.len() > 200);
    let verdicts = referee.judge(judged.iter().map(|(_, object)| object));
    for ((file, object), verdict) in judged.iter().zip(verdicts) {
        let refused: Vec<_> =
            verdict.causes.iter().filter(|cause| cause.path.starts_with("status")).collect();
        let unknown: Vec<_> =
            verdict.unknown_fields.iter().filter(|path| path.starts_with("status")).collect();
        assert!(
            refused.is_empty() && unknown.is_empty(),
            "{}: {refused:?} {unknown:?}\n{object}",
            file.display()
        );
    }
}
