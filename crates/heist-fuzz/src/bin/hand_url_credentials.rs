//! The target `hand_url_credentials` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("hand_url_credentials", data));
