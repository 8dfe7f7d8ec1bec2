//! The target `hand_generic_secret` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("hand_generic_secret", data));
