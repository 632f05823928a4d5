#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| portcullis_fuzzing::run("http3", input));
