//! Other controllers write statuses too.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    client::get,
    site::{SITE, route},
    stage::{Stage, our_parent, status, verdict},
};

/// How often a rival writes: no writer of ours has the object for itself any longer.
const PERIOD: Duration = Duration::from_millis(10);

/// The controller that writes beside ours.
const RIVAL: &str = "example.com/rival";

/// How soon our status follows nevertheless, with a rival and on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// What others have written stays as it is, byte for byte, while ours follows under a writer that never rests, and
/// that now and then throws ours away.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_write_survives_and_ours_follows() {
    let Some(mut stage) = Stage::start("rivals").await else { return };
    let address = stage.serve_site().await;
    let routes = stage.objects("v1", "HTTPRoute", SITE);
    let gateways = stage.objects("v1", "Gateway", SITE);
    let route_rival = Rival::start(routes.clone(), "bystander", entry_of_a_rival);
    let gateway_rival = Rival::start(gateways.clone(), "web", condition_of_a_rival);

    for change in 0..10 {
        let host = format!("h{change}.example");
        stage.cluster.apply(&route("bystander", &host)).unwrap();
        let changed = routes.get("bystander").await.unwrap().metadata.generation.unwrap();
        let begun = Instant::now();
        let ours = |status: &Value| {
            let conditions = our_parent(status).and_then(|parent| parent["conditions"].as_array());
            conditions
                .is_some_and(|all| all.iter().all(|condition| condition["observedGeneration"] == changed))
        };
        stage.when("HTTPRoute", SITE, "bystander", &format!("judged in generation {changed}"), ours).await;
        eprintln!("followed after {:?}", begun.elapsed());
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
    let label = json!({"spec": {"infrastructure": {"labels": {"changed": "yes"}}}});
    gateways.patch("web", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    let changed = gateways.get("web").await.unwrap().metadata.generation.unwrap();
    let ours = |status: &Value| {
        let conditions = status["conditions"].as_array().unwrap();
        let ours = conditions.iter().find(|condition| condition["type"] == "Programmed");
        ours.is_some_and(|ours| ours["observedGeneration"] == changed)
    };
    stage.when("Gateway", SITE, "web", "judged anew", ours).await;

    for rival in [route_rival, gateway_rival] {
        let (writes, losses) = rival.end().await;
        eprintln!("{writes} writes of a rival");
        assert_eq!((losses, writes > 20), (Vec::new(), true), "{writes} writes");
    }
    let route = stage.accepted(SITE, "bystander").await;
    assert_eq!(status(&route)["parents"].as_array().unwrap().len(), 2, "one entry each");
    let gateway = gateways.get("web").await.unwrap();
    assert_eq!(verdict(status(&gateway), "Programmed"), Some("True"));
    a_full_list_of_ancestors_has_no_room(&stage, &address).await;
}

/// Where others fill a policy's list, the policy is not in effect: its backend gets nothing, and the Gateway says so until
/// there is room.
async fn a_full_list_of_ancestors_has_no_room(stage: &Stage, address: &str) {
    let policies = stage.objects("v1", "BackendTLSPolicy", SITE);
    let fill = async |entries: usize| {
        let ancestors: Vec<Value> = (0..entries).map(ancestor).collect();
        let patch = Patch::Merge(json!({"status": {"ancestors": ancestors}}));
        policies.patch_status("full", &PatchParams::default(), &patch).await.unwrap();
    };
    // Targets nothing at first, so that nobody is in the list before it is full.
    stage.cluster.apply(&policy("nothing")).unwrap();
    fill(16).await;
    stage.cluster.apply(&policy("echo")).unwrap();
    let told = |status: &Value| verdict(status, "portcullis.dev/PolicyNotApplied") == Some("True");
    stage.when("Gateway", SITE, "web", "aware that a policy is not applied", told).await;
    let answered = get(address, "h9.example", "/").await.unwrap().0;
    let policy = policies.get("full").await.unwrap();
    let entries = status(&policy)["ancestors"].as_array().unwrap();
    assert_eq!((answered, entries.len()), (500, 16));
    assert!(entries.iter().all(|entry| entry["controllerName"] == RIVAL), "{entries:?}");

    fill(15).await;
    let listed = |status: &Value| {
        let entries = status["ancestors"].as_array();
        entries.is_some_and(|entries| entries.iter().any(|entry| entry["ancestorRef"]["name"] == "web"))
    };
    stage.when("BackendTLSPolicy", SITE, "full", "in effect", listed).await;
    let untold = |status: &Value| verdict(status, "portcullis.dev/PolicyNotApplied").is_none();
    stage.when("Gateway", SITE, "web", "of no policy that is not applied", untold).await;
}

fn policy(target: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {{namespace: {SITE}, name: full}}
spec:
  targetRefs: [{{group: '', kind: Service, name: {target}}}]
  validation: {{hostname: echo.example, wellKnownCACertificates: System}}
"
    )
}

fn ancestor(index: usize) -> Value {
    json!({
        "ancestorRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": format!("other-{index}")},
        "controllerName": RIVAL,
        "conditions": [condition("Accepted", 1)],
    })
}

/// A writer that reads, checks, changes and writes without rest, as controllers shall: against the version it read.
struct Rival {
    ends: Arc<AtomicBool>,
    work: JoinHandle<(usize, Vec<String>)>,
}

impl Rival {
    /// `part` gives what is the rival's own of a status: what it shall be after so many writes, and puts it there.
    fn start(
        objects: Api<DynamicObject>,
        name: &'static str,
        part: fn(&mut Value, Option<usize>) -> Value,
    ) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let work = tokio::spawn(async move {
            let (mut writes, mut losses) = (0, Vec::new());
            let mut mine = None;
            while !is_over.load(Ordering::Relaxed) {
                tokio::time::sleep(PERIOD).await;
                let mut object = objects.get(name).await.unwrap();
                let status = object.data.get_mut("status").unwrap();
                let found = part(status, None);
                if mine.as_ref().is_some_and(|mine| *mine != found) {
                    losses.push(format!("{mine:?} became {found}"));
                }
                let wanted = part(status, Some(writes));
                let written = objects.replace_status(name, &PostParams::default(), &object).await;
                match written {
                    Ok(_) => (mine, writes) = (Some(wanted), writes + 1),
                    Err(kube::Error::Api(refused)) if refused.code == 409 => {}
                    Err(error) => panic!("{error}"),
                }
            }
            (writes, losses)
        });
        Self { ends, work }
    }

    /// How often it wrote, and what of it was lost.
    async fn end(self) -> (usize, Vec<String>) {
        self.ends.store(true, Ordering::Relaxed);
        self.work.await.unwrap()
    }
}

/// An entry of another controller, under a parent of the same name; every twentieth write forgets all others.
fn entry_of_a_rival(status: &mut Value, write: Option<usize>) -> Value {
    let parents = status["parents"].as_array_mut().unwrap();
    let place = parents.iter().position(|parent| parent["controllerName"] == RIVAL);
    let Some(write) = write else { return place.map_or(Value::Null, |place| parents[place].clone()) };
    let entry = json!({
        "parentRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "web"},
        "controllerName": RIVAL,
        "conditions": [condition("Accepted", write), condition("example.com/Odd", write)],
    });
    match place {
        _ if write % 20 == 19 => *parents = vec![entry.clone()],
        Some(place) => parents[place] = entry.clone(),
        None => parents.insert(0, entry.clone()),
    }
    entry
}

/// Conditions of types that are nobody's we know, of a Gateway and of its listener.
fn condition_of_a_rival(status: &mut Value, write: Option<usize>) -> Value {
    let parts = ["/conditions", "/listeners/0/conditions"].map(|at| {
        let Some(conditions) = status.pointer_mut(at).and_then(Value::as_array_mut) else {
            return Value::Null;
        };
        let place = conditions.iter().position(|condition| condition["type"] == "example.com/Odd");
        let Some(write) = write else { return place.map_or(Value::Null, |place| conditions[place].clone()) };
        let condition = condition("example.com/Odd", write);
        match place {
            Some(place) => conditions[place] = condition.clone(),
            None => conditions.insert(0, condition.clone()),
        }
        condition
    });
    parts.into_iter().collect()
}

fn condition(name: &str, write: usize) -> Value {
    json!({
        "type": name, "status": "Unknown", "reason": "Counting", "message": format!("write {write}\u{2003}\u{e9}"),
        "lastTransitionTime": "2020-01-01T00:00:00Z", "observedGeneration": write,
    })
}
