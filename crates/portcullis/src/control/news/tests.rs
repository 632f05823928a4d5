use std::io;
use std::sync::{Arc, Mutex};

use portcullis_api::{FieldPath, Rule};

use super::*;

static PARENT: Rule = Rule { code: "PC0404", severity: Severity::Warning, summary: "", hint: "" };

/// What a log is written to.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines that are logged meanwhile.
fn logged(tell: impl FnOnce(&mut News)) -> Vec<String> {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).without_time().with_target(false);
    tracing::subscriber::with_default(log.with_writer(move || writer.clone()).finish(), || {
        let mut news = News::default();
        tell(&mut news);
        news.end();
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

fn route(name: &str) -> ObjectKey {
    ObjectKey::new(Kind::HttpRoute, "default", name)
}

fn flip(part: &str, status: &str, reason: &str, message: &str) -> Flip {
    Flip {
        object: ObjectKey::new(Kind::Gateway, "default", "web"),
        part: part.to_owned(),
        condition: "Programmed".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        before: None,
    }
}

#[test]
fn of_many_lines_of_a_sort_the_first_are_logged_and_the_rest_counted() {
    let lines = logged(|news| {
        for number in 0..3000 {
            let finding = Diagnostic::new(&PARENT, FieldPath::ROOT, "parent Gateway x does not exist");
            news.finding(&route(&format!("r{number}")), &finding);
        }
    });
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[0], "WARN parent Gateway x does not exist object=HTTPRoute/default/r0 code=\"PC0404\"");
    assert_eq!(lines[10], "WARN PC0404: and 2990 more; `portcullis check` lists all");
}

#[test]
fn a_finding_that_is_gone_is_said_to_be_gone() {
    let finding = Diagnostic::new(&PARENT, FieldPath::ROOT, "parent Gateway x does not exist");
    assert_eq!(
        logged(|news| news.recovery(&route("r"), &finding)),
        ["INFO no longer: parent Gateway x does not exist object=HTTPRoute/default/r code=\"PC0404\""]
    );
}

/// A port that cannot be bound is one cause, however many conditions it turns.
#[test]
fn what_the_log_has_already_and_what_sums_it_up_are_not_logged_again() {
    let flips = [
        flip("http", "False", "PortUnavailable", "cannot listen on 0.0.0.0:80: in use"),
        flip("https", "False", "InvalidCertificateRef", "Secret default/cert does not exist"),
        flip("", "False", "Invalid", "no listener of the Gateway can be served"),
    ];
    assert_eq!(
        logged(|news| news.flips(&flips, &["cannot listen on 0.0.0.0:80: in use"])),
        ["WARN Programmed=False/InvalidCertificateRef: Secret default/cert does not exist \
             object=Gateway/default/web part=\"https\""]
    );
    assert_eq!(
        logged(|news| news.flips(&flips[2..], &[])),
        [
            "WARN Programmed=False/Invalid: no listener of the Gateway can be served object=Gateway/default/web"
        ]
    );
}

#[test]
fn a_reload_is_told_by_counts_and_the_first_names() {
    let service = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{ports: [{{port: 80}}]}}\n---\n"
        )
    };
    let text: String = ["a", "b", "c", "d", "old"].map(service).concat();
    let loaded = portcullis_files::read(std::path::Path::new("f.yaml"), text.as_bytes());
    let mut store = Store::new();
    let old = ObjectKey::new(Kind::Service, "default", "old");
    let is_old = |object: &&portcullis_api::Object| object.key() == old;
    store.apply(loaded.objects.iter().filter(is_old).cloned().map(Change::Put));
    let mut changes: Vec<Change> = loaded.objects.iter().cloned().map(Change::Put).collect();
    changes.push(Change::Remove(route("gone")));
    assert_eq!(
        summary(&changes, &store, &loaded.sources).as_deref(),
        Some(
            "4 added (Service/default/a, Service/default/b, Service/default/c, and 1 more), \
             1 changed (Service/default/old), 1 removed (HTTPRoute/default/gone)"
        )
    );
    assert_eq!(summary(&[], &store, &loaded.sources), None);
}
