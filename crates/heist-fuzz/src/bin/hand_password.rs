//! The fuzz target `hand_password` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("hand_password", data));
