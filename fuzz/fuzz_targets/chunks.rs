//! Chunked bodies: the decoder agrees with a second implementation, however the input is cut.
//!
//! The first two bytes of the input say where to cut.
#![no_main]

#[path = "../../crates/http1/tests/support/agreement.rs"]
mod agreement;
#[path = "../../crates/http1/tests/support/reference.rs"]
mod reference;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [a, b, input @ ..] = input else { return };
    let mut cuts = [usize::from(*a), usize::from(*a) + usize::from(*b)];
    cuts = cuts.map(|cut| cut.min(input.len()));
    agreement::assert_agreement(input, &cuts);
});
