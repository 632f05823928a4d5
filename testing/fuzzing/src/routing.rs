//! Routing: for any rules and requests, table and trace say what the oracle says.
//!
//! The input stands in for the random numbers of the property tests' generators, so that coverage steers them.

#[path = "../../../crates/routing/tests/it/agreement.rs"]
mod agreement;
#[path = "../../../crates/routing/tests/it/build.rs"]
#[allow(dead_code, reason = "the tests build more than this target")]
mod build;
#[path = "../../../crates/routing/tests/it/generate.rs"]
#[allow(dead_code, reason = "the tests generate more than this target")]
mod generate;
#[path = "../../../crates/routing/tests/it/oracle.rs"]
#[allow(dead_code, reason = "the tests ask more than this target")]
mod oracle;

use portcullis_model::ListenerProtocol;
use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Random bytes that a table and its requests take at most: generators that reject would ask for ever where there are
/// no more.
const ENOUGH: usize = 64 * 1024;

/// The input, and what goes on where it ends: the same bytes each time (xorshift64).
fn endless(input: &[u8]) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let more = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    input.iter().copied().chain(more.flatten().take(ENOUGH)).collect()
}

pub(crate) fn run(input: &[u8]) {
    let rng = TestRng::from_seed(RngAlgorithm::PassThrough, &endless(input));
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = (generate::arb_routes(8), vec(generate::arb_request(), 1..8));
    let Ok(made) = strategy.new_tree(&mut runner) else { return };
    let (routes, requests) = made.current();
    let table = build::table(&build::listener_of("web", ListenerProtocol::Http, "", routes));
    for asked in &requests {
        agreement::assert_agreement(&table, asked);
    }
}
