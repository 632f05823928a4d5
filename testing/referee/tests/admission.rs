//! portcullis-api says of every object what the API server's own code says of it: of one for each
//! side of each limit and rule of the CRDs, and of thousands of mutated manifests.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use portcullis_referee::{
    Referee, Verdict,
    agreement::assert_agreement,
    cases,
    coverage::{Coverage, Trial},
    crd::{self, Version},
    limits::{self, Size},
    mutations,
};

#[test]
fn every_limit_and_rule_has_a_case_on_both_sides_and_we_say_the_same_to_all() {
    let Some(referee) = Referee::find() else { return };
    let versions = crd::versions(&referee);
    let rich = cases::rich_objects(&referee);
    let judge = |trials: &[Trial]| referee.judge(trials.iter().map(|trial| &trial.object));

    let mut trials = cases::trials(&referee, &versions, &rich);
    trials.extend(limits::trials(&versions, &rich, Size::Slim, |_, _| true));
    let mut verdicts = judge(&trials);
    let coverage = Coverage::of(&versions, &trials, &verdicts);
    let more = limits::trials(&versions, &rich, Size::Rich, |version, site| coverage.lacks(version, site));
    verdicts.extend(judge(&more));
    trials.extend(more);

    let wrong = claims_that_do_not_hold(&versions, &trials, &verdicts);
    assert!(wrong.is_empty(), "claims of the tables that do not hold:\n{}", wrong.join("\n"));
    let coverage = Coverage::of(&versions, &trials, &verdicts);
    println!("{}\n{} trials", coverage.report(&versions), trials.len());
    let gaps = coverage.gaps(&versions);
    assert!(gaps.is_empty(), "{} sites without a case on both sides:\n{}", gaps.len(), gaps.join("\n"));
    assert_agreement(&trials, &verdicts);
}

#[test]
fn we_say_the_same_to_mutated_examples_and_manifests_of_the_suite() {
    let Some(referee) = Referee::find() else { return };
    let versions = crd::versions(&referee);
    let rich = cases::rich_objects(&referee);
    let seeds = mutations::seeds(&referee, &versions);
    println!("{} manifests", seeds.len());
    let trials = mutations::trials(&versions, &rich, &seeds);
    let verdicts = referee.judge(trials.iter().map(|trial| &trial.object));
    let refused = verdicts.iter().filter(|verdict| !verdict.allowed).count();
    println!("{} objects, {refused} refused", trials.len());
    assert!(trials.len() > 5000 && refused > trials.len() / 4 && refused < trials.len() * 3 / 4);
    assert_agreement(&trials, &verdicts);
}

fn claims_that_do_not_hold(versions: &[Version], trials: &[Trial], verdicts: &[Verdict]) -> Vec<String> {
    let by_hand = trials.iter().zip(verdicts).filter(|(trial, _)| trial.by_hand);
    by_hand
        .filter(|(trial, verdict)| !trial.holds(&versions[trial.version], verdict))
        .map(|(trial, verdict)| format!("{}\n    {:?}\n    {:?}", trial.name, trial.claim, verdict.causes))
        .collect()
}
