//! A controller that is started again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use crate::{
    client::get,
    many::Many,
    stage::{CONTROLLER, Stage, eventually},
};

/// How many routes there are.
const ROUTES: usize = 1000;

/// Whoever connects while a controller starts is served by all that there is to serve, or does not get through: never by
/// a part of it, for which a route, an endpoint or a Service is not there yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_starts_serves_everything_or_nothing() {
    let Some(mut stage) = Stage::start("restarts").await else { return };
    let address = stage.serve_site().await;
    let many = Many::of(&stage);
    many.create(0..ROUTES).await;
    stage.attached(ROUTES + 1).await;
    for kill in [false, true] {
        match kill {
            true => stage.cluster.kill(CONTROLLER),
            false => assert!(stage.cluster.terminate(CONTROLLER)),
        }
        let ends = Arc::new(AtomicBool::new(false));
        let visits: Vec<_> = (0..4).map(|visitor| visit(&ends, &address, visitor)).collect();
        let began = Instant::now();
        stage.start_controller();
        eventually("the last route is served", async || {
            let host = format!("{}.example", ROUTES - 1);
            get(&address, &host, "/").await.ok().filter(|(status, _)| *status == 200)
        })
        .await;
        eprintln!("served {:?} after the start", began.elapsed());
        ends.store(true, Ordering::Relaxed);
        for visit in visits {
            let (refused, served, wrong) = visit.await.unwrap();
            eprintln!("{refused} times nobody was there, {served} times a route");
            assert_eq!(wrong, Vec::<String>::new());
            assert!(refused > 0);
        }
    }
}

/// Asks for one route after the other until it is told to end: how often nobody was there, how often a route was served,
/// and whatever else came.
fn visit(
    ends: &Arc<AtomicBool>,
    address: &str,
    visitor: usize,
) -> tokio::task::JoinHandle<(usize, usize, Vec<String>)> {
    let (ends, address) = (Arc::clone(ends), address.to_owned());
    tokio::spawn(async move {
        let (mut refused, mut served, mut wrong) = (0, 0, Vec::new());
        for number in (0..ROUTES).cycle().skip(visitor * ROUTES / 4) {
            if ends.load(Ordering::Relaxed) {
                break;
            }
            match get(&address, &format!("{number}.example"), "/").await {
                Ok((200, _)) => served += 1,
                Ok((status, _)) => wrong.push(format!("{number}: {status}")),
                Err(error) if error.contains("refused") => refused += 1,
                Err(error) => wrong.push(format!("{number}: {error}")),
            }
            tokio::task::yield_now().await;
        }
        (refused, served, wrong)
    })
}
