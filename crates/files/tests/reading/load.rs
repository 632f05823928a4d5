//! What is read from files at one time, and what is said about them.

use crate::folder::{Folder, map, said};
use portcullis_api::{FieldPath, Severity};
use portcullis_files::{Loaded, load};
use portcullis_store::{Kind, Object, ObjectKey};

fn loaded(folder: &Folder) -> Loaded {
    load(&[folder.0.path().to_owned()])
}

fn keys(loaded: &Loaded) -> Vec<String> {
    let mut keys: Vec<_> = loaded.objects.iter().map(|object| object.key().to_string()).collect();
    keys.sort();
    keys
}

fn find<'a>(loaded: &'a Loaded, key: &str) -> &'a Object {
    loaded.objects.iter().find(|object| object.key().to_string() == key).expect("the object is there")
}

const GATEWAY: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: web
  namespace: edge
spec:
  gatewayClassName: nice
  listeners:
  - name: http
    port: 80
    protocol: HTTP
";

#[test]
fn folders_are_read_to_the_bottom_and_by_extension() {
    let folder = Folder::with(&[
        ("a.yaml", &map("a", "1")),
        ("b.yml", &map("b", "1")),
        ("c.json", r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}"#),
        ("deep/er/d.yaml", &map("d", "1")),
        // none of these is read
        (".hidden.yaml", "]["),
        (".git/e.yaml", "]["),
        (".a.yaml.swp", "]["),
        (".#a.yaml", "]["),
        ("a.yaml~", "]["),
        ("#a.yaml#", "]["),
        ("a.yaml.bak", "]["),
        ("4913", "]["),
        ("README.md", "]["),
    ]);
    let loaded = loaded(&folder);
    assert_eq!(said(&folder, &loaded.diagnostics), [""; 0]);
    let expected =
        ["ConfigMap/default/a", "ConfigMap/default/b", "ConfigMap/default/c", "ConfigMap/default/d"];
    assert_eq!(keys(&loaded), [&expected[..], &["Namespace/default"]].concat());
}

#[test]
fn a_file_that_is_named_is_read_whatever_its_name() {
    let folder = Folder::with(&[(".odd", &map("a", "1"))]);
    let loaded = load(&[folder.path(".odd")]);
    assert_eq!(keys(&loaded), ["ConfigMap/default/a", "Namespace/default"]);
}

#[test]
fn a_config_map_as_kubelet_mounts_it_is_read_once() {
    let folder = Folder::with(&[("..2026_01/a.yaml", &map("a", "1"))]);
    folder.link("..2026_01", "..data");
    folder.link("..data/a.yaml", "a.yaml");
    let loaded = loaded(&folder);
    assert_eq!(said(&folder, &loaded.diagnostics), [""; 0]);
    assert_eq!(keys(&loaded), ["ConfigMap/default/a", "Namespace/default"]);
}

#[test]
fn links_in_a_circle_end_and_one_file_by_two_names_is_no_duplicate() {
    let folder = Folder::with(&[("sub/a.yaml", &map("a", "1"))]);
    folder.link("..", "sub/up");
    folder.link("sub", "again");
    std::fs::hard_link(folder.path("sub/a.yaml"), folder.path("b.yaml")).expect("links work here");
    let loaded = loaded(&folder);
    assert_eq!(said(&folder, &loaded.diagnostics), [""; 0]);
    assert_eq!(keys(&loaded), ["ConfigMap/default/a", "Namespace/default"]);
}

#[test]
fn roots_within_each_other_are_read_once() {
    let folder = Folder::with(&[("sub/a.yaml", &map("a", "1"))]);
    let loaded = load(&[folder.path("sub"), folder.path("sub/a.yaml"), folder.0.path().to_owned()]);
    assert_eq!(said(&folder, &loaded.diagnostics), [""; 0]);
    assert_eq!(keys(&loaded), ["ConfigMap/default/a", "Namespace/default"]);
}

#[test]
fn lists_and_documents_are_taken_apart() {
    let list = "\
kind: List
apiVersion: v1
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- kind: ConfigMapList
  apiVersion: v1
  items: [{metadata: {name: b}}]
---
# nothing
---
kind: GatewayList
apiVersion: gateway.networking.k8s.io/v1
items:
- metadata: {name: g}
  spec: {gatewayClassName: x, listeners: [{name: l, port: 80, protocol: HTTP}]}
";
    let folder = Folder::with(&[("list.yaml", list)]);
    let loaded = loaded(&folder);
    assert_eq!(said(&folder, &loaded.diagnostics), [""; 0]);
    let expected = ["ConfigMap/default/a", "ConfigMap/default/b", "Gateway/default/g", "Namespace/default"];
    assert_eq!(keys(&loaded), expected);
}

#[test]
fn files_get_what_an_api_server_would_add() {
    let folder = Folder::with(&[
        ("a.yaml", &map("a", "1")),
        ("g.yaml", GATEWAY),
        ("ns.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: edge, labels: {tier: front}}}"),
    ]);
    let loaded = loaded(&folder);
    let labels = |key| {
        find(&loaded, key).metadata().labels.clone().unwrap_or_default().into_iter().collect::<Vec<_>>()
    };
    let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
    let name = "kubernetes.io/metadata.name";
    assert_eq!(labels("Namespace/edge"), [pair(name, "edge"), pair("tier", "front")]);
    assert_eq!(labels("Namespace/default"), [pair(name, "default")]);
    assert_eq!(find(&loaded, "Gateway/edge/web").metadata().generation, Some(1));
}

#[test]
fn a_finding_has_the_place_of_its_field() {
    let text = GATEWAY.replace("port: 80", "port: 0\n    hostnam: x")
        + "---\n"
        + &GATEWAY.replace("  name: web\n", "");
    let folder = Folder::with(&[("g.yaml", &text)]);
    let loaded = loaded(&folder);
    let places: Vec<_> = loaded
        .diagnostics
        .iter()
        .map(|d| (d.position.as_ref().map(|p| (p.line, p.column)), d.path.to_string()))
        .collect();
    let expected = [
        ((10, 11), "spec.listeners[0].port"),
        ((11, 14), "spec.listeners[0].hostnam"),
        ((16, 1), "metadata.name"), // not written: the place of metadata
    ];
    assert_eq!(places, expected.map(|(place, path)| (Some(place), path.to_owned())));
}

#[test]
fn the_place_of_any_field_of_an_object_is_known() {
    let folder = Folder::with(&[("g.yaml", GATEWAY)]);
    let loaded = loaded(&folder);
    let key = ObjectKey::new(Kind::Gateway, "edge", "web");
    let spec = FieldPath::of("spec");
    let cases = [
        (FieldPath::ROOT, (1, 1)),
        (spec.clone(), (6, 1)),
        (spec.field("gatewayClassName"), (7, 21)),
        (spec.field("listeners"), (8, 3)),
        (spec.field("listeners").index(0), (9, 5)),
        (spec.field("listeners").index(0).field("port"), (10, 11)),
        (spec.field("listeners").index(0).field("hostname"), (9, 5)),
        (spec.field("listeners").index(7).field("port"), (8, 3)),
    ];
    for (path, place) in cases {
        let position = loaded.sources.locate(&key, &path).expect("the object is known");
        assert_eq!((position.line, position.column), place, "{path}");
    }
    assert_eq!(loaded.sources.locate(&ObjectKey::new(Kind::Gateway, "edge", "other"), &spec), None);
}

/// What a Secret lacks is missing in whichever of its two fields is written.
#[test]
fn an_entry_of_a_secret_is_found_in_data_and_in_string_data() {
    let secret = |field: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ntype: kubernetes.io/tls\n\
             {field}:\n  tls.crt: YQ==\n"
        )
    };
    let folder = Folder::with(&[("a.yaml", &secret("data")), ("b.yaml", &secret("stringData"))]);
    let loaded = loaded(&folder);
    let places: Vec<_> = loaded
        .diagnostics
        .iter()
        .map(|d| format!("{} {}", d.position.as_ref().expect("a place"), d.path))
        .filter(|said| said.contains("data[tls.key]"))
        .map(|said| said.replace(&format!("{}/", folder.0.path().display()), ""))
        .collect();
    assert_eq!(places, ["a.yaml:5:1 data[tls.key]", "b.yaml:5:1 data[tls.key]"]);
}

#[test]
fn a_scalar_of_the_wrong_type_says_how_to_quote_it() {
    let route = |value| {
        format!(
            "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: r}}
spec:
  rules:
  - matches: [{{headers: [{{name: x, value: {value}}}]}}]
"
        )
    };
    for written in ["on", "1_000", "0x10", "No", "1.50"] {
        let folder = Folder::with(&[("r.yaml", &route(written))]);
        let loaded = loaded(&folder);
        let hints: Vec<_> = loaded.diagnostics.iter().map(portcullis_api::Diagnostic::hint).collect();
        assert_eq!(hints, [format!("write it in quotes: \"{written}\"")], "{:?}", loaded.diagnostics);
    }
    let folder =
        Folder::with(&[("m.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: off}}")]);
    let loaded = loaded(&folder);
    assert_eq!(
        loaded.diagnostics.iter().map(portcullis_api::Diagnostic::hint).collect::<Vec<_>>(),
        ["write it in quotes: \"off\""]
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let folder = Folder::with(&[
        ("a.yaml", "a: [1\n"),
        ("b.yaml", "kind: ConfigMap\nkind: Secret\n---\njust text\n"),
        ("c.yaml", "apiVersion: v1\n---\n- a\n"),
        ("d.yaml", &map("same", "1")),
        ("e.yaml", &format!("# first line\n{}", map("same", "2"))),
    ]);
    std::fs::write(folder.path("f.yaml"), b"a: b\nc: \xff\n").expect("the file can be written");
    let loaded = loaded(&folder);
    let said = said(&folder, &loaded.diagnostics);
    assert_eq!(
        said,
        [
            "a.yaml:1:4 PC0104 not YAML: unclosed bracket '['",
            "b.yaml:2:1 PC0104 the key \"kind\" is already set at 1:1",
            "b.yaml:4:1 PC0105 a document that is not a mapping",
            "c.yaml:1:1 PC0200 kind is missing",
            "c.yaml:3:1 PC0105 a document that is not a mapping",
            "e.yaml:2:1 PC0106 ConfigMap/default/same is defined at d.yaml:1:1 already, and that is used",
            "f.yaml:2:4 PC0103 a byte here is not UTF-8",
        ]
    );
    assert!(loaded.diagnostics.iter().all(|diagnostic| diagnostic.severity() == Severity::Error));
    let Object::ConfigMap(same) = find(&loaded, "ConfigMap/default/same") else {
        panic!("it is a ConfigMap")
    };
    assert_eq!(same.data.clone().unwrap_or_default()["v"], "1");
}

/// `cat *.yaml` makes one document of files that do not begin with a separator.
#[test]
fn files_one_behind_the_other_lack_a_separator() {
    let folder = Folder::with(&[("a.yaml", &[map("a", "1"), map("b", "1")].concat())]);
    let loaded = load(&[folder.path("a.yaml")]);
    let found = loaded.diagnostics.first().expect("keys are set twice");
    assert!(found.message.starts_with("the key \"apiVersion\" is already set at 1:1"), "{found}");
    assert_eq!(found.hint(), "remove one of them, or write --- before it if another object begins here");
}

#[test]
fn a_path_that_gives_nothing_is_said() {
    let folder = Folder::new();
    folder.link("circle.yaml", "circle.yaml");
    folder.link("nowhere", "dangling.yaml");
    let loaded = load(&[folder.0.path().to_owned(), folder.path("none.yaml")]);
    let said = said(&folder, &loaded.diagnostics);
    assert_eq!(
        said[..3],
        [
            "circle.yaml:1:1 PC0101 too many levels of symbolic links",
            "dangling.yaml:1:1 PC0101 a link that leads nowhere",
            "none.yaml:1:1 PC0100 no such file or folder"
        ]
    );
    for link in &loaded.diagnostics[..2] {
        assert_eq!(link.hint(), "correct the link, or remove it");
    }
    assert!(said[3].ends_with("PC0107 no .yaml, .yml or .json file here"), "{said:?}");
}
