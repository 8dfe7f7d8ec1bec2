//! The fuzz target `parser_connection_string` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("parser_connection_string", data));
