//! The fuzz target `hand_connection_string` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("hand_connection_string", data));
