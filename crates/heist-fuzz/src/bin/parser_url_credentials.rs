//! The fuzz target `parser_url_credentials` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("parser_url_credentials", data));
