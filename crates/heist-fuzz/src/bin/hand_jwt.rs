//! The fuzz target `hand_jwt` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("hand_jwt", data));
