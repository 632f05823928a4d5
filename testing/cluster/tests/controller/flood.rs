//! Two thousand changes in a few seconds.

use std::time::{Duration, Instant};

use crate::{
    client::{Visitor, get},
    many::Many,
    site::BYSTANDER,
    stage::{Stage, eventually},
};

/// How soon after the last change all statuses are right.
const SETTLED: Duration = Duration::from_secs(20);

/// After 2,000 creates, updates and deletes every status is right, what is left is served and nothing else, and a
/// route that has nothing to do with it never noticed.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_routes_settles_and_harms_nobody() {
    let Some(mut stage) = Stage::start("flood").await else { return };
    let address = stage.serve_site().await;
    let visitor = Visitor::start(&address, BYSTANDER);
    let many = Many::of(&stage);
    let begun = Instant::now();
    many.create(0..1000).await;
    // Each third stays as it is, is changed, is deleted; those deleted were changed before.
    many.change((0..1000).filter(|number| number % 3 > 0).take(600)).await;
    many.delete((0..1000).filter(|number| number % 3 == 2).chain((0..201).step_by(3)).take(400)).await;
    let flood = begun.elapsed();
    let changed = Instant::now();
    let left = eventually("all statuses are right", async || {
        let (are_right, count) = many.are_right().await;
        are_right.then_some(count)
    })
    .await;
    let settled = changed.elapsed();
    stage.attached(left).await;
    eprintln!("flood in {flood:?}, statuses right {settled:?} later, attached {:?} later", changed.elapsed());
    let (wrong, right) = visitor.end().await;
    eprintln!("{right} right answers meanwhile");
    assert_eq!((wrong, right > 20), (Vec::new(), true));
    assert_eq!(left, 601);
    assert!(settled <= SETTLED, "{settled:?}");
    for (host, expected) in [
        ("999.example", 200),
        ("997.changed.example", 404),
        ("1.changed.example", 200),
        ("1.example", 404),
        ("2.example", 404),
        ("2.changed.example", 404),
    ] {
        let (answered, _) = get(&address, host, "/").await.unwrap();
        assert_eq!((host, answered), (host, expected));
    }
}
