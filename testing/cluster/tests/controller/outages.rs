//! The API server is away, or has forgotten.

use std::time::Duration;

use crate::{
    audit::Audit,
    client::{Visitor, get},
    site::{BYSTANDER, SITE, route},
    stage::{Stage, eventually},
};

/// Traffic is served as before while the API server is away, and after it has forgotten what it knew (410); what is
/// changed right after is served, and nothing is said again that is said already.
#[tokio::test(flavor = "multi_thread")]
async fn traffic_does_not_notice_an_outage_and_what_follows_is_quiet() {
    let Some(mut stage) = Stage::start("outages").await else { return };
    let address = stage.serve_site().await;
    let mut audit = Audit::default();
    for (name, forgets) in [("after-restart", false), ("after-compaction", true)] {
        audit.news(&stage.cluster);
        let visitor = Visitor::start(&address, BYSTANDER);
        stage.cluster.kill_apiserver();
        if forgets {
            stage.cluster.compact_etcd().unwrap();
        }
        // Long enough for every watch to have failed, and to wait between tries.
        tokio::time::sleep(Duration::from_secs(3)).await;
        stage.cluster.restart_apiserver().await.unwrap();
        let host = format!("{name}.example");
        stage.cluster.apply(&route(name, &host)).unwrap();
        let begun = std::time::Instant::now();
        eventually(&format!("{host} is served"), async || {
            get(&address, &host, "/").await.ok().filter(|(status, _)| *status == 200)
        })
        .await;
        eprintln!("{name}: served after {:?}", begun.elapsed());
        stage.accepted(SITE, name).await;
        eprintln!("{name}: status after {:?}", begun.elapsed());
        let (wrong, right) = visitor.end().await;
        assert_eq!((wrong, right > 20), (Vec::new(), true), "{right} right answers");
        stage.attached(2 + usize::from(forgets)).await;
        let written = audit.writes(&stage.cluster);
        let mut written: Vec<String> =
            written.into_iter().map(|asked| format!("{} {}", asked.resource, asked.name)).collect();
        written.sort();
        assert_eq!(written, ["gateways/status web".to_owned(), format!("httproutes/status {name}")]);
    }
}
