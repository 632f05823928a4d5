//! Everything a maintainer runs.
#![forbid(unsafe_code)]

fn main() {}
