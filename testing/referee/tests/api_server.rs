//! portcullis-api says of objects what a real API server says of them, asked by dry runs: of one on each side of each
//! limit and rule of the CRDs, and of mutated manifests; and but for one no rule needs an object's old state.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "api_server/judge.rs"]
mod judge;
#[path = "api_server/questions.rs"]
mod questions;

use std::{collections::HashSet, env, fs, mem, path::Path};

use judge::{ApiServer, of_version};
use portcullis_cluster_testing::{Cluster, Options, is_possible};
use portcullis_referee::{
    Referee, Verdict,
    agreement::assert_agreement,
    cases,
    coverage::{Coverage, Trial},
    crd::{self, Version},
    limits::{self, Size},
    mutations,
};
use serde_json::{Value, json};

/// Of the mutated manifests one in so many is put before it, for each takes it some milliseconds.
/// `PORTCULLIS_ONE_IN=1` takes all.
const ONE_IN: usize = 8;

/// The CRD of the one kind that is not the Gateway API's.
const BACKENDS: &str = "gateway.envoyproxy.io_backends.yaml";

#[tokio::test]
async fn an_api_server_says_what_we_say() {
    let Some(referee) = Referee::find().filter(|_| is_possible()) else { return };
    let versions = crd::versions(&referee);
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let backends = referee.crds().iter().find(|file| file.ends_with(BACKENDS)).unwrap();
    cluster.apply(&fs::read_to_string(backends).unwrap()).unwrap();
    cluster.wait(&["crd", "--all"], "condition=Established").unwrap();
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api_server/stored.yaml");
    let small: Vec<_> = referee.read(&[small]).into_iter().map(|document| document.object).collect();
    let api_server = ApiServer::begin(cluster.client().await.unwrap(), &versions, &small).await;

    let rich = cases::rich_objects(&referee);
    let mut inquiry = Inquiry {
        api_server: &api_server,
        versions: &versions,
        small: &small,
        trials: Vec::new(),
        verdicts: Vec::new(),
    };
    inquiry.of_every_limit_and_rule(&referee, &rich).await;
    let one_in = env::var("PORTCULLIS_ONE_IN").map_or(ONE_IN, |one_in| one_in.parse().unwrap());
    let mutants = mutations::trials(&versions, &rich, &mutations::seeds(&referee, &versions));
    inquiry.put(mutants.into_iter().step_by(one_in)).await;
    let Inquiry { trials, verdicts, .. } = inquiry;
    let refused = verdicts.iter().filter(|verdict| !verdict.allowed).count();
    println!("{} trials, {refused} refused, {} dry runs", trials.len(), api_server.asked());
    assert_agreement(&trials, &verdicts);
    a_classs_controller_never_changes(&api_server, &versions).await;
}

/// What was put before an API server, and its verdicts.
struct Inquiry<'a> {
    api_server: &'a ApiServer,
    versions: &'a [Version],
    /// What it has stored.
    small: &'a [Value],
    trials: Vec<Trial>,
    verdicts: Vec<Verdict>,
}

impl Inquiry<'_> {
    async fn put(&mut self, trials: impl IntoIterator<Item = Trial>) {
        let parts: Vec<Trial> = trials.into_iter().flat_map(|trial| self.parts(trial)).collect();
        self.verdicts.extend(self.api_server.judge(parts.iter().map(|trial| &trial.object)).await);
        self.trials.extend(parts);
    }

    /// An API server takes no status with a creation and no spec with a status: two trials, but for what is about
    /// one of both alone.
    fn parts(&self, trial: Trial) -> impl Iterator<Item = Trial> {
        let version = &self.versions[trial.version];
        let site = trial.claim.site().map(|site| version.sites[site].path.starts_with("status"));
        let (mut of_spec, mut of_status) = (trial.clone(), trial);
        let status = of_spec.object.as_object_mut().unwrap().remove("status");
        if let Some(namespace) = of_spec.object["metadata"].get_mut("namespace") {
            // Of the other namespaces none exists in the cluster, and an API server looks for it first.
            *namespace = json!("default");
        }
        let of_status = status.map(|status| {
            of_status.object = of_version(version, self.small);
            of_status.object["status"] = status;
            of_status
        });
        let of_spec = Some(of_spec).filter(|_| site != Some(true));
        of_spec.into_iter().chain(of_status.filter(|_| site != Some(false)))
    }

    /// All cases by hand; of the generated ones no more than it takes to see each limit broken alone and kept.
    async fn of_every_limit_and_rule(&mut self, referee: &Referee, rich: &[Value]) {
        let versions = self.versions;
        self.put(cases::trials(referee, versions, rich)).await;
        for size in [Size::Slim, Size::Rich] {
            let coverage = self.coverage();
            let mut pool =
                limits::trials(versions, rich, size, |version, site| coverage.lacks(version, site));
            while !pool.is_empty() {
                let coverage = self.coverage();
                pool.retain(|trial| coverage.wants(trial));
                let mut taken = HashSet::new();
                let side =
                    |trial: &Trial| (trial.version, trial.claim.site(), mem::discriminant(&trial.claim));
                let round = pool.extract_if(.., |trial| taken.insert(side(trial)));
                let round: Vec<Trial> = round.collect();
                self.put(round).await;
            }
        }
        let gaps = self.coverage().gaps(versions);
        assert!(gaps.is_empty(), "{} sites without a case on both sides:\n{}", gaps.len(), gaps.join("\n"));
    }

    fn coverage(&self) -> Coverage {
        Coverage::of(self.versions, &self.trials, &self.verdicts)
    }
}

/// That it may not is the only rule about an old value, so that whoever reads objects alone, such as `check`, can
/// say of all else what the API server says.
async fn a_classs_controller_never_changes(api_server: &ApiServer, versions: &[Version]) {
    let mut ruled = Vec::new();
    for version in versions {
        for (path, schema) in crd::properties(&version.schema) {
            let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
            let of_old = rules.filter(|rule| rule["rule"].to_string().contains("oldSelf"));
            ruled.extend(of_old.map(|_| format!("{} {path}", version.api_version)));
        }
    }
    let group = "gateway.networking.k8s.io";
    let field = "spec.controllerName";
    assert_eq!(ruled, [format!("{group}/v1 {field}"), format!("{group}/v1beta1 {field}")]);

    for version in ["v1", "v1beta1"] {
        let class = |controller: &str| {
            let spec = json!({"controllerName": controller, "description": "Another"});
            json!({"apiVersion": format!("{group}/{version}"), "kind": "GatewayClass", "spec": spec})
        };
        assert_eq!(api_server.replace(&class("example.com/controller")).await, [""; 0]);
        assert_eq!(api_server.replace(&class("example.com/another")).await, [field]);
    }
}
