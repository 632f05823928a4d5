//! Routing: for any rules and requests, table and trace say what the oracle says.
//!
//! The input stands in for the random numbers of the property tests' generators, so that coverage steers them.
#![no_main]

#[path = "../../crates/routing/tests/it/agreement.rs"]
mod agreement;
#[path = "../../crates/routing/tests/it/build.rs"]
#[allow(dead_code, reason = "the tests build more than this target")]
mod build;
#[path = "../../crates/routing/tests/it/generate.rs"]
#[allow(dead_code, reason = "the tests generate more than this target")]
mod generate;
#[path = "../../crates/routing/tests/it/oracle.rs"]
#[allow(dead_code, reason = "the tests ask more than this target")]
mod oracle;

use libfuzzer_sys::fuzz_target;
use portcullis_model::ListenerProtocol;
use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fuzz_target!(|input: &[u8]| {
    let rng = TestRng::from_seed(RngAlgorithm::PassThrough, input);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = (generate::arb_routes(8), vec(generate::arb_request(), 1..8));
    let Ok(made) = strategy.new_tree(&mut runner) else { return };
    let (routes, requests) = made.current();
    let table = build::table(&build::listener_of("web", ListenerProtocol::Http, "", routes));
    for asked in &requests {
        agreement::assert_agreement(&table, asked);
    }
});
