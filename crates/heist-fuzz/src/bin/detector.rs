//! The target `detector` as a program of libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("detector", data));
