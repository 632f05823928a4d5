//! What kubectl makes of a text: the expected values are what `sigs.k8s.io/yaml` v1.6.0 answers.

use super::parse;
use crate::limits::MAX_DEPTH;
use proptest::prelude::*;

/// The documents as JSON; faults as `line:column: message`.
fn read(text: &str) -> Vec<String> {
    let documents = parse(text).into_iter().map(|document| match document {
        Ok(node) => node.to_json().to_string(),
        Err(faults) => {
            let faults = faults.iter().map(|f| format!("{}: {}", f.place, f.message));
            faults.collect::<Vec<_>>().join("; ")
        }
    });
    documents.collect()
}

fn assert_reads(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(read(text).join(" | "), *expected, "{text:?}");
    }
}

#[test]
fn plain_scalars_have_their_yaml_1_1_meaning() {
    for word in ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"] {
        assert_eq!(read(&format!("a: {word}")), [r#"{"a":true}"#], "{word}");
    }
    for word in ["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"] {
        assert_eq!(read(&format!("a: {word}")), [r#"{"a":false}"#], "{word}");
    }
    for word in ["", "~", "null", "Null", "NULL"] {
        assert_eq!(read(&format!("a: {word}")), [r#"{"a":null}"#], "{word}");
    }
    for word in ["nO", "tRue", "yEs", "nUll", "1:30", "190:20:30", "2001-01-01", "2001-12-14t21:59:43.10Z"] {
        assert_eq!(read(&format!("a: {word}")), [format!(r#"{{"a":"{word}"}}"#)], "{word}");
    }
}

#[test]
fn numbers_are_read_as_go_reads_them() {
    let cases = [
        ("08", "8"),
        ("0o17", "15"),
        ("0O17", "15"),
        ("017", "15"),
        ("0_7", "7"),
        ("0b101", "5"),
        ("-0b101", "-5"),
        ("+0b101", "5"),
        ("0x1F", "31"),
        ("0X1f", "31"),
        ("-0x1F", "-31"),
        ("1_000", "1000"),
        ("1_", "1"),
        ("-1_0.5_0e1", "-105"),
        ("-0", "0"),
        ("+1", "1"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1.e3", "1000"),
        ("1e+3", "1000"),
        ("1.0", "1"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("+.5", "0.5"),
        ("0.1", "0.1"),
        ("1e-7", "1e-7"),
        ("9007199254740993.0", "9007199254740992"),
        ("9223372036854775807", "9223372036854775807"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e+19"),
        ("-9223372036854775809", "-9.223372036854776e+18"),
        // not numbers
        ("._5", "\"._5\""),
        ("_1", "\"_1\""),
        ("1e400", "\"1e400\""),
        (".1e400", "\".1e400\""),
        ("1.5.2", "\"1.5.2\""),
        ("0x", "\"0x\""),
        ("0b", "\"0b\""),
        ("0x1p3", "\"0x1p3\""),
        ("0b12", "\"0b12\""),
        ("+", "\"+\""),
        ("+-1", "\"+-1\""),
        ("0x+1", "\"0x+1\""),
        ("-inf", "\"-inf\""),
        (".", "\".\""),
        ("=", "\"=\""),
    ];
    for (text, expected) in cases {
        assert_eq!(read(&format!("a: {text}")), [format!(r#"{{"a":{expected}}}"#)], "{text}");
    }
}

#[test]
fn quotes_blocks_and_tags_decide_over_the_text() {
    assert_reads(&[
        ("a: \"on\"", r#"{"a":"on"}"#),
        ("a: '1'", r#"{"a":"1"}"#),
        ("a: |\n  no\n", r#"{"a":"no\n"}"#),
        ("a: >-\n  1\n  2\n", r#"{"a":"1 2"}"#),
        ("a: |\n  the end of the file", r#"{"a":"the end of the file"}"#),
        ("a:\t1", r#"{"a":1}"#),
        ("a: [\n1,\n2\n]\n", r#"{"a":[1,2]}"#),
        ("a: !!str 5", r#"{"a":"5"}"#),
        ("a: !!str", r#"{"a":""}"#),
        ("a: !!int \"5\"", r#"{"a":5}"#),
        ("a: !!float 5", r#"{"a":5}"#),
        ("a: !!bool yes", r#"{"a":true}"#),
        ("a: !!binary aGk=", r#"{"a":"hi"}"#),
        ("a: !foo on", r#"{"a":"on"}"#),
        ("a: ! on", r#"{"a":"on"}"#),
        ("a: !!set {b}", r#"{"a":{"b":null}}"#),
        ("a: !!int abc", "1:10: \"abc\" is not a !!int"),
        ("a: !!int 1.5", "1:10: \"1.5\" is not a !!int"),
        ("a: !!bool 1", "1:11: \"1\" is not a !!bool"),
        ("a: !!float x", "1:12: \"x\" is not a !!float"),
        ("a: !!null x", "1:11: \"x\" is not a !!null"),
        ("a: !!binary '*'", "1:13: the value of a !!binary is not base64"),
        ("a: .nan", "1:4: .nan is a number that JSON cannot hold"),
        ("a: -.inf", "1:4: -.inf is a number that JSON cannot hold"),
    ]);
}

#[test]
fn keys_become_text() {
    assert_reads(&[
        ("on: 1", r#"{"true":1}"#),
        ("1: 1", r#"{"1":1}"#),
        ("0x10: 1", r#"{"16":1}"#),
        ("1.5: 1", r#"{"1.5":1}"#),
        ("1e9: 1", r#"{"1e+09":1}"#),
        ("~: 1", "1:1: a key must not be null"),
        ("? [a]\n: b", "1:3: a key must be a scalar"),
        ("a: {{ .Values.x }}", "1:5: a key must be a scalar"),
        ("18446744073709551615: a", "1:1: 18446744073709551615 is too large a number for a key"),
    ]);
}

#[test]
fn a_key_set_twice_names_both_places() {
    assert_reads(&[
        (
            "a: 1\nb:\n  c: 1\n  c: 2\na: 2",
            "4:3: the key \"c\" is already set at 3:3; 5:1: the key \"a\" is already set at 1:1",
        ),
        ("1: a\n'1': b", "2:1: the key \"1\" is already set at 1:1"),
        ("{\"a\": 1, \"a\": 1}", "1:10: the key \"a\" is already set at 1:2"),
    ]);
}

#[test]
fn anchors_aliases_and_merge_keys_work() {
    assert_reads(&[
        ("a: &x {b: 1}\nc: *x", r#"{"a":{"b":1},"c":{"b":1}}"#),
        ("a: &x 1\nb: &x 2\nc: *x", r#"{"a":1,"b":2,"c":2}"#),
        ("<<: {a: 2, b: 3}\na: 1", r#"{"a":1,"b":3}"#),
        // kubectl's parser goes by the order in which keys are written
        ("a: 1\n<<: {a: 2}", r#"{"a":2}"#),
        ("<<: [{a: 1}, {a: 2, b: 3}]\nc: 1", r#"{"a":1,"b":3,"c":1}"#),
        ("\"<<\": {a: 1}", r#"{"<<":{"a":1}}"#),
        ("x: &x {a: 1}\nz:\n  <<: *x\n  b: 2", r#"{"x":{"a":1},"z":{"a":1,"b":2}}"#),
        ("<<: {a: 1}\na: 2\na: 3", "3:1: the key \"a\" is already set at 2:1"),
        ("<<: 1", "1:5: the merge key << takes a mapping, or a list of mappings"),
        ("<<: [1]", "1:6: the merge key << takes a mapping, or a list of mappings"),
        ("a: &x [*x]", "1:8: the alias lies within the anchor it names"),
    ]);
    assert_reads(&[(
        "a: *x\nb: *x",
        "1:4: there is no anchor &x before this alias; 2:4: there is no anchor &x before this alias",
    )]);
}

#[test]
fn an_anchor_does_not_outlive_its_document() {
    assert_reads(&[("a: &x 1\n---\nb: *x", r#"{"a":1} | 3:4: there is no anchor &x before this alias"#)]);
}

#[test]
fn documents_stand_alone_and_empty_ones_are_skipped() {
    assert_reads(&[
        ("", ""),
        ("# nothing\n", ""),
        ("---\n---\na: 1\n---\n# none\n---\nb: 2\n...\n", r#"{"a":1} | {"b":2}"#),
        ("a: 1\n---\nb: 1\nb: 2\n---\nc: 3", r#"{"a":1} | 4:1: the key "b" is already set at 3:1 | {"c":3}"#),
        ("\u{feff}a: 1", r#"{"a":1}"#),
        ("a: 1\r\n---\r\nb: 2\r\n", r#"{"a":1} | {"b":2}"#),
        ("just text", r#""just text""#),
    ]);
    let cut = read("a: 1\n---\nb: {\n---\nc: 1\n");
    assert_eq!((&*cut[0], &*cut[2]), (r#"{"a":1}"#, r#"{"c":1}"#), "{cut:?}");
    assert!(cut[1].contains("not YAML"), "{cut:?}");
}

#[test]
fn json_is_read_too() {
    assert_reads(&[
        ("{\"a\": [1, true, null, \"x\\/y\", 1.5e3], \"b\": {}}", r#"{"a":[1,true,null,"x/y",1500],"b":{}}"#),
        ("{\n\t\"a\": 1,\n\t\"b\": [\n\t\t{\"c\": \"on\"}\n\t]\n}\n", r#"{"a":1,"b":[{"c":"on"}]}"#),
        ("{\"a\": \"\\u00e9 \\ud83d\\ude00\"}", r#"{"a":"é 😀"}"#),
        ("{\"a\": 1}\n{\"b\": 2} {\"c\": 3}\n", r#"{"a":1} | {"b":2} | {"c":3}"#),
        ("{\"a\": 1}\n {\"b\": 2, \"b\": 3}", r#"{"a":1} | 2:11: the key "b" is already set at 2:3"#),
    ]);
}

#[test]
fn what_explodes_is_refused() {
    let mut laughs = String::from("a0: &a0 [x]\n");
    for level in 1..12 {
        let previous = format!("*a{},", level - 1).repeat(10);
        laughs.push_str(&format!("a{level}: &a{level} [{previous}]\n"));
    }
    assert!(read(&laughs)[0].ends_with("aliases make this document too large"), "{:?}", read(&laughs));

    let long = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), "*a,".repeat(1_000));
    assert!(read(&long)[0].ends_with("aliases make this document too large"));

    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read(&nested(MAX_DEPTH)), [nested(MAX_DEPTH)]);
    assert_eq!(read(&nested(MAX_DEPTH + 1)), ["1:101: nested more than 100 levels deep"]);
    let unclosed = "[".repeat(1_000_000);
    assert_eq!(read(&unclosed).len(), 1, "an end to it is found");
}

proptest! {
    /// No text makes the reader panic, and what it reads is JSON.
    #[test]
    fn any_text_is_read_or_refused(text in "(?s)([a-c:\\-?&*!<>|'\"{}\\[\\], \n\t#%@`~0-9.]|---\n|\\PC){0,60}") {
        read(&text);
    }

    /// JSON means itself.
    #[test]
    fn json_means_itself(value in json()) {
        let text = value.to_string();
        let read = parse(&text);
        if value.is_null() {
            prop_assert!(read.is_empty());
        } else {
            let node = read.into_iter().next().and_then(Result::ok);
            prop_assert_eq!(node.map(|node| node.to_json()), Some(value));
        }
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[ -~é\n\t]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map("[a-z<~]{0,6}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
