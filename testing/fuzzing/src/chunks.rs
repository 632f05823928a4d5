//! Chunked bodies: the decoder agrees with a second implementation, however the input is cut.
//!
//! The first two bytes of the input say where to cut.

#[path = "../../../crates/http1/tests/support/agreement.rs"]
mod agreement;
#[path = "../../../crates/http1/tests/support/reference.rs"]
mod reference;

pub(crate) fn run(input: &[u8]) {
    let [a, b, input @ ..] = input else { return };
    let mut cuts = [usize::from(*a), usize::from(*a) + usize::from(*b)];
    cuts = cuts.map(|cut| cut.min(input.len()));
    agreement::assert_agreement(input, &cuts);
}
