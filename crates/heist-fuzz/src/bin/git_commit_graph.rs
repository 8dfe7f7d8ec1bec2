//! The fuzz target `git_commit_graph` as a libFuzzer program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heist_fuzz::run("git_commit_graph", data));
