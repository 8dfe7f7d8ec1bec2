//! The fuzz target `parser_private_key` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("parser_private_key", data));
