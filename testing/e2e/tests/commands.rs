//! The commands as a script meets them: what they print, where, and how they exit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use portcullis_e2e::{manifests, program};
use serde_json::{Value, json};

/// Runs a command with this standard input.
fn pipe(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(program::binary())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

fn condition<'a>(holder: &'a Value, name: &str) -> &'a Value {
    let conditions = holder["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == name).unwrap()
}

#[test]
fn check_exits_with_0_where_nothing_is_wrong() {
    let output = pipe(&["check", "-"], &manifests::served(80));
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("4 objects: ") || text.starts_with("5 objects: "), "{text}");
}

#[test]
fn check_exits_with_1_and_names_file_line_column_and_field_of_an_error() {
    let broken = manifests::http(80).replace("port: 80}]\n", "port: 70000}]\n");
    let output = pipe(&["check", "-o", "json", "-"], &broken);
    assert_eq!(output.status.code(), Some(1));
    let found = json(&output);
    let finding = &found["diagnostics"][0];
    assert_eq!(finding["severity"], "error");
    assert_eq!(
        finding["object"],
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "namespace": "default", "name": "web",
        })
    );
    assert_eq!((&finding["file"], &finding["line"]), (&json!("-"), &json!(11)));
    assert_eq!(finding["path"], "spec.listeners[0].port");
    assert!(finding["code"].as_str().unwrap().starts_with("PC02"));
    assert!(
        !finding["message"].as_str().unwrap().is_empty() && !finding["hint"].as_str().unwrap().is_empty()
    );
}

#[test]
fn check_says_what_resolution_says() {
    let output = pipe(&["check", "-o", "json", "-"], &manifests::http(80));
    assert_eq!(output.status.code(), Some(1), "the Service is missing");
    let found = json(&output);
    let codes: Vec<&str> = found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"PC0501"), "{codes:?}");
}

#[test]
fn sarif_is_of_version_2_1_0_and_points_at_the_rule_of_each_result() {
    let output = pipe(&["check", "-o", "sarif", "-"], &manifests::http(80));
    let log = json(&output);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
}

#[test]
fn usage_errors_exit_with_2() {
    for line in [
        &["check"][..],
        &["frobnicate"],
        &["run", "x", "--drain-delay", "5"],
        &["run", "x", "--limit", "a=1"],
    ] {
        let output = pipe(line, "");
        assert_eq!(output.status.code(), Some(2), "{line:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{line:?}");
    }
}

#[test]
fn status_has_every_condition_as_a_cluster_would_hold_it() {
    let output = pipe(&["status", "-o", "json", "-"], &manifests::served(80));
    assert_eq!(output.status.code(), Some(0));
    let statuses = json(&output);
    let items = statuses["items"].as_array().unwrap();
    let kinds: Vec<&str> = items.iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["GatewayClass", "Gateway", "HTTPRoute"]);
    let gateway = &items[1];
    assert_eq!(gateway["apiVersion"], "gateway.networking.k8s.io/v1");
    assert_eq!(gateway["metadata"], json!({"namespace": "default", "name": "web"}));
    let programmed = condition(&gateway["status"], "Programmed");
    assert_eq!((&programmed["status"], &programmed["reason"]), (&json!("True"), &json!("Programmed")));
    assert_eq!(programmed["observedGeneration"], 1);
    assert!(programmed["lastTransitionTime"].as_str().unwrap().ends_with('Z'));
    let listener = &gateway["status"]["listeners"][0];
    assert_eq!((&listener["name"], &listener["attachedRoutes"]), (&json!("http"), &json!(1)));
    let parent = &items[2]["status"]["parents"][0];
    assert_eq!(parent["controllerName"], "portcullis.dev/gateway-controller");
    assert_eq!(condition(parent, "ResolvedRefs")["status"], "True");
}

#[test]
fn status_as_yaml_and_text_say_the_same() {
    let yaml = pipe(&["status", "-o", "yaml", "-"], &manifests::served(80));
    assert!(String::from_utf8_lossy(&yaml.stdout).contains("status: \"True\""));
    let text = pipe(&["status", "-"], &manifests::served(80));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("Gateway/default/web\n") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn version_and_completions_print_to_standard_output() {
    let version = json(&program::output(["version", "-o", "json"]));
    assert_eq!(version["gatewayApi"], "v1.7.0");
    for shell in ["bash", "zsh", "fish"] {
        let output = program::output(["completions", shell]);
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("portcullis"));
    }
}

#[test]
fn explain_follows_a_request_through_the_quick_start() {
    let ask = |words: &[&str]| {
        let arguments =
            ["explain"].iter().chain(words).chain(&["--from", "examples/quickstart", "-o", "json"]);
        let output = program::output(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        json(&output)
    };
    let forwarded = ask(&["http://shop.localhost/", "-H", "x-preview: on"]);
    assert_eq!(forwarded["outcome"], "forward");
    assert_eq!(forwarded["route"], json!({"kind": "HTTPRoute", "namespace": "shop", "name": "shop"}));
    assert_eq!(forwarded["backends"][0]["object"]["name"], "storefront-next");
    assert!(!forwarded["candidates"].as_array().unwrap().is_empty());
    let redirected = ask(&["GET", "https://shop.localhost/catalogue/hats"]);
    assert_eq!((&redirected["outcome"], &redirected["status"]), (&json!("redirect"), &json!(301)));
    let rejected = ask(&["http://elsewhere.localhost/"]);
    assert_eq!((&rejected["outcome"], &rejected["status"]), (&json!("reject"), &json!(404)));
}
