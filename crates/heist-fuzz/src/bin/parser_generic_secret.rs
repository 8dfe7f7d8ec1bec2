//! The fuzz target `parser_generic_secret` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("parser_generic_secret", data));
