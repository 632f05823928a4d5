//! The `portcullis` binary; everything it does is in the library beside it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The proxy allocates and frees on every connection, from every worker.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    portcullis::main()
}
