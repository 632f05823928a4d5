//! What is read again, when, and what stays meanwhile. Real files, real events, no sleeping: each step waits
//! for the update that it causes.

use crate::folder::{Folder, Followed, map};
use portcullis_api::FieldPath;
use portcullis_store::{Kind, ObjectKey};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, Instant};

fn one() -> Followed {
    Followed::new(Folder::with(&[("a.yaml", &map("a", "1"))]))
}

#[tokio::test]
async fn writing_in_place() {
    let mut followed = one();
    followed.folder.write("a.yaml", &map("a", "2"));
    followed.until_passing(&["a=2"], |passing| assert_eq!(passing.maps(), ["a=1"])).await;
    followed.folder.write("b.yaml", &map("b", "1"));
    followed.until(&["a=2", "b=1"]).await;
}

#[tokio::test]
async fn renaming_into_place_is_acted_on_at_once() {
    let mut followed = one();
    let mut took = Vec::new();
    for value in 2..12 {
        let value = value.to_string();
        followed.folder.write("a.yaml.tmp", &map("a", &value));
        let start = Instant::now();
        followed.folder.rename("a.yaml.tmp", "a.yaml");
        followed.update().await;
        took.push(start.elapsed());
        assert_eq!(followed.maps(), [format!("a={value}")]);
    }
    took.sort();
    assert!(took[took.len() / 2] < Duration::from_millis(50), "well below the 100 ms of silence: {took:?}");
}

#[tokio::test]
async fn removing_and_renaming_away() {
    let mut followed = Followed::new(Folder::with(&[("a.yaml", &map("a", "1")), ("b.yaml", &map("b", "1"))]));
    followed.folder.remove("a.yaml");
    followed.until(&["b=1"]).await;
    followed.folder.rename("b.yaml", "b.yaml~");
    followed.until(&[]).await;
    assert!(!followed.has(Kind::Namespace, "", "default"), "nothing lives there any more");
}

#[tokio::test]
async fn an_object_that_moves_to_another_file_is_never_missed() {
    let mut followed = one();
    followed.folder.rename("a.yaml", "z.yaml");
    followed.folder.write("b.yaml", &map("b", "1"));
    followed.until_passing(&["a=1", "b=1"], |passing| assert_eq!(passing.maps(), ["a=1"])).await;
}

#[tokio::test]
async fn saving_as_vim_does() {
    let mut followed = one();
    followed.folder.write(".a.yaml.swp", "b0VIM");
    followed.folder.write("4913", "");
    followed.folder.remove("4913");
    followed.folder.rename("a.yaml", "a.yaml~");
    followed.folder.write("a.yaml", &map("a", "2"));
    followed.folder.remove("a.yaml~");
    followed.folder.remove(".a.yaml.swp");
    followed.until_passing(&["a=2"], |passing| assert_eq!(passing.maps(), ["a=1"])).await;
}

#[tokio::test]
async fn swapping_links_as_kubelet_does() {
    let folder = Folder::with(&[("..1/a.yaml", &map("a", "1")), ("..1/b.yaml", &map("b", "1"))]);
    folder.link("..1", "..data");
    folder.link("..data/a.yaml", "a.yaml");
    folder.link("..data/b.yaml", "b.yaml");
    let mut followed = Followed::new(folder);
    for round in 2..5 {
        let folder = &followed.folder;
        folder.write(&format!("..{round}/a.yaml"), &map("a", &round.to_string()));
        folder.write(&format!("..{round}/b.yaml"), &map("b", &round.to_string()));
        folder.link(format!("..{round}"), "..data_tmp");
        folder.rename("..data_tmp", "..data");
        fs::remove_dir_all(folder.path(&format!("..{}", round - 1))).expect("the old version can be removed");
        let expected = [format!("a={round}"), format!("b={round}")];
        let before = followed.maps();
        followed
            .until_passing(&expected.each_ref().map(String::as_str), |passing| {
                assert_eq!(passing.maps(), before, "both change together");
            })
            .await;
    }
    assert!(followed.said().is_empty(), "{:?}", followed.said());
}

#[tokio::test]
async fn a_link_to_a_file_elsewhere_follows_that_file() {
    let elsewhere = Folder::with(&[("real.yaml", &map("a", "1"))]);
    let folder = Folder::new();
    folder.link(elsewhere.path("real.yaml"), "a.yaml");
    let mut followed = Followed::new(folder);
    elsewhere.write("real.yaml", &map("a", "2"));
    followed.until(&["a=2"]).await;
    elsewhere.replace("real.yaml", &map("a", "3"));
    followed.until(&["a=3"]).await;
}

#[tokio::test]
async fn folders_come_move_and_go() {
    let mut followed = one();
    followed.folder.write("new/deep/b.yaml", &map("b", "1"));
    followed.until(&["a=1", "b=1"]).await;
    followed.folder.write("new/deep/b.yaml", &map("b", "2"));
    followed.until(&["a=1", "b=2"]).await;

    followed.folder.rename("new", "renamed");
    followed.folder.replace("renamed/deep/b.yaml", &map("b", "3"));
    followed.until_passing(&["a=1", "b=3"], |passing| assert_eq!(passing.maps(), ["a=1", "b=2"])).await;
    followed.folder.write("renamed/deep/b.yaml", &map("b", "4"));
    followed.until(&["a=1", "b=4"]).await;

    followed.folder.rename("renamed", ".out-of-sight");
    followed.until(&["a=1"]).await;
    followed.folder.rename(".out-of-sight", "back");
    followed.until(&["a=1", "b=4"]).await;
    fs::remove_dir_all(followed.folder.path("back")).expect("the folder can be removed");
    followed.until(&["a=1"]).await;
}

#[tokio::test]
async fn a_folder_that_is_swapped_for_another_is_followed_on() {
    let mut followed =
        Followed::new(Folder::with(&[("d/a.yaml", &map("a", "1")), (".next/a.yaml", &map("a", "2"))]));
    followed.folder.rename("d", ".old");
    followed.folder.rename(".next", "d");
    followed.until(&["a=2"]).await;
    followed.folder.write("d/a.yaml", &map("a", "3"));
    followed.until(&["a=3"]).await;
    followed.folder.write(".old/a.yaml", &map("a", "9"));
    followed.folder.write("d/b.yaml", &map("b", "1"));
    followed.until(&["a=3", "b=1"]).await;
}

#[tokio::test]
async fn the_root_itself_vanishes_and_comes_back() {
    let folder = Folder::with(&[
        ("root/a.yaml", &map("a", "1")),
        ("root/deep/b.yaml", &map("b", "1")),
        ("next/a.yaml", &map("a", "2")),
    ]);
    let root = folder.path("root");
    let mut followed = Followed::paths(folder, &[root]);

    followed.folder.rename("root", "gone");
    followed.update().await;
    assert_eq!(followed.maps(), ["a=1", "b=1"], "what was read stays until the root is back");
    assert_eq!(followed.said(), ["root:1:1 PC0100 no such file or folder"]);

    followed.folder.rename("next", "root");
    followed.until(&["a=2"]).await;
    assert!(followed.said().is_empty(), "{:?}", followed.said());
    followed.folder.write("root/a.yaml", &map("a", "3"));
    followed.until(&["a=3"]).await;
}

#[tokio::test]
async fn the_root_may_be_a_link_that_is_swapped() {
    let folder = Folder::with(&[("v1/a.yaml", &map("a", "1")), ("v2/a.yaml", &map("a", "2"))]);
    folder.link("v1", "current");
    let root = folder.path("current");
    let mut followed = Followed::paths(folder, &[root]);
    followed.folder.link("v2", "next");
    followed.folder.rename("next", "current");
    followed.until(&["a=2"]).await;
    followed.folder.write("v2/a.yaml", &map("a", "3"));
    followed.until(&["a=3"]).await;
}

#[tokio::test]
async fn the_root_may_appear_later_with_the_folders_above_it() {
    let folder = Folder::new();
    let root = folder.path("x/y/root");
    let mut followed = Followed::paths(folder, &[root]);
    assert_eq!(followed.said(), ["x/y/root:1:1 PC0100 no such file or folder"]);
    followed.folder.write("x/y/root/a.yaml", &map("a", "1"));
    followed.until(&["a=1"]).await;
    assert!(followed.said().is_empty(), "{:?}", followed.said());
}

#[tokio::test]
async fn a_single_file_is_followed_and_its_neighbours_are_not() {
    let folder = Folder::with(&[("a.yaml", &map("a", "1"))]);
    let path = folder.path("a.yaml");
    let mut followed = Followed::paths(folder, &[path]);
    followed.folder.write("b.yaml", &map("b", "1"));
    followed.folder.replace("a.yaml", &map("a", "2"));
    followed.until(&["a=2"]).await;
    followed.folder.remove("a.yaml");
    followed.update().await;
    assert_eq!(followed.maps(), ["a=2"], "what was read stays until the file is back");
    followed.folder.write("a.yaml", &map("a", "3"));
    followed.until(&["a=3"]).await;
}

#[tokio::test]
async fn a_file_that_is_open_for_writing_removes_nothing() {
    let both = format!("{}---\n{}", map("a", "1"), map("b", "1"));
    let mut followed = Followed::new(Folder::with(&[("ab.yaml", &both)]));
    // Cut at the end of a document this is valid YAML without `b`.
    let mut file = File::create(followed.folder.path("ab.yaml")).expect("the file can be written");
    file.write_all(map("a", "2").as_bytes()).expect("the file can be written");
    file.flush().expect("the file can be written");
    followed.folder.write("c.yaml", &map("c", "1"));
    followed
        .until_passing(&["a=1", "b=1", "c=1"], |passing| assert_eq!(passing.maps(), ["a=1", "b=1"]))
        .await;
    file.write_all(format!("---\n{}", map("b", "2")).as_bytes()).expect("the file can be written");
    drop(file);
    followed
        .until_passing(&["a=2", "b=2", "c=1"], |passing| assert_eq!(passing.maps(), ["a=1", "b=1", "c=1"]))
        .await;
}

#[tokio::test]
async fn a_file_that_is_never_closed_is_read_after_a_silence() {
    let mut followed = one();
    let start = Instant::now();
    let mut file =
        OpenOptions::new().append(true).open(followed.folder.path("a.yaml")).expect("it can be opened");
    file.write_all(format!("---\n{}", map("b", "1")).as_bytes()).expect("the file can be written");
    followed.until(&["a=1", "b=1"]).await;
    assert!(start.elapsed() >= Duration::from_millis(100), "{:?}", start.elapsed());
    drop(file);
}

#[tokio::test]
async fn a_file_that_does_not_parse_keeps_its_last_good_version() {
    let mut followed = one();
    followed.folder.replace("a.yaml", &format!("{}---\nb: [\n", map("a", "2")));
    followed.update().await;
    assert_eq!(followed.maps(), ["a=1"]);
    assert_eq!(followed.said(), ["a.yaml:6:4 PC0104 not YAML: unclosed bracket '['"]);
    followed.folder.replace("a.yaml", &map("a", "3"));
    followed.until(&["a=3"]).await;
    assert!(followed.said().is_empty());
}

#[tokio::test]
async fn an_object_that_is_refused_keeps_its_last_good_version_and_harms_no_other() {
    let gateway = |port: &str| {
        format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: g}}\nspec:\n  \
             gatewayClassName: c\n  listeners: [{{name: l, port: {port}, protocol: HTTP}}]\n---\n"
        )
    };
    let text = |port, value| gateway(port) + &map("a", value);
    let mut followed = Followed::new(Folder::with(&[("a.yaml", &text("80", "1"))]));
    followed.folder.replace("a.yaml", &text("0", "2"));
    followed.until(&["a=2"]).await;
    assert!(followed.has(Kind::Gateway, "default", "g"));
    assert!(followed.said()[0].starts_with("a.yaml:6:31 PC0213 "), "{:?}", followed.said());
    // It stays even when it moves, still broken, to another file.
    followed.folder.rename("a.yaml", "b.yaml");
    followed.folder.replace("c.yaml", &map("c", "1"));
    followed.until(&["a=2", "c=1"]).await;
    assert!(followed.has(Kind::Gateway, "default", "g"));
    followed.folder.replace("b.yaml", &map("a", "3"));
    followed.until(&["a=3", "c=1"]).await;
    assert!(!followed.has(Kind::Gateway, "default", "g"), "no file mentions it any more");
}

#[tokio::test]
async fn while_a_document_has_no_name_nothing_is_removed() {
    let both = format!("{}---\n{}", map("a", "1"), map("b", "1"));
    let mut followed = Followed::new(Folder::with(&[("ab.yaml", &both)]));
    followed.folder.replace("ab.yaml", &both.replace("{name: b}", "{}").replace("\"1\"", "\"2\""));
    followed.until(&["a=2", "b=1"]).await;
    assert!(!followed.said().is_empty());
}

#[tokio::test]
async fn a_duplicate_names_both_places_and_takes_over_when_the_first_goes() {
    let mut followed = one();
    followed.folder.replace("b.yaml", &map("a", "2"));
    followed.update().await;
    assert_eq!(
        followed.said(),
        ["b.yaml:1:1 PC0106 ConfigMap/default/a is defined at a.yaml:1:1 already, and that is used"]
    );
    assert_eq!(followed.maps(), ["a=1"]);
    followed.folder.remove("a.yaml");
    followed.until(&["a=2"]).await;
    assert!(followed.said().is_empty());
}

#[tokio::test]
async fn a_namespace_that_a_file_defines_later_replaces_the_one_that_was_assumed() {
    let mut followed = one();
    let labels = |followed: &Followed| {
        let namespace = followed.store.list(Kind::Namespace).next().expect("it exists");
        namespace.metadata().labels.clone().unwrap_or_default().len()
    };
    assert_eq!(labels(&followed), 1);
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {x: z}}}";
    followed.folder.replace("ns.yaml", namespace);
    followed.update().await;
    assert_eq!(labels(&followed), 2);
    followed.folder.remove("ns.yaml");
    followed.update().await;
    assert_eq!(labels(&followed), 1);
}

#[tokio::test]
async fn rewriting_a_file_with_the_same_meaning_is_no_update() {
    let mut followed = one();
    followed.folder.replace("a.yaml", &format!("# a comment\n{}", map("a", "1")));
    followed.folder.replace("b.yaml", &map("b", "1"));
    followed.update().await;
    assert_eq!(followed.maps(), ["a=1", "b=1"], "the first update is that of b");
    let place =
        followed.sources.locate(&ObjectKey::new(Kind::ConfigMap, "default", "a"), &FieldPath::of("data"));
    assert_eq!(place.map(|place| place.line), Some(5), "but places follow");
}
