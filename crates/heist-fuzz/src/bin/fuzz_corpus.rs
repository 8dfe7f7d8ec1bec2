//! Manages the seeds of the fuzz targets: generates them, and converts them for libFuzzer.
//!
//! ```text
//! fuzz-corpus make                    generates seeds (files named `made-*`); others stay
//! fuzz-corpus unpack TARGET FOLDER    writes a target's seeds to a folder as plain bytes
//! fuzz-corpus add TARGET FILE         stores a fuzzer's finding as a seed
//! ```

use heist_fuzz::{TARGETS, corpus, seeds};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["make"] => TARGETS.iter().try_for_each(|target| make(target.name)),
        ["unpack", target, folder] => unpack(target, Path::new(folder)),
        ["add", target, file] => add(target, Path::new(file)),
        _ => {
            eprintln!("usage: fuzz-corpus make | unpack TARGET FOLDER | add TARGET FILE");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz-corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = corpus::folder(target);
    fs::create_dir_all(&folder)?;
    let path = folder.join(name).with_extension(corpus::EXTENSION);
    fs::write(&path, corpus::pack(bytes))
}

fn make(target: &str) -> io::Result<()> {
    for (number, seed) in seeds::make(target).iter().enumerate() {
        write(target, &format!("made-{number:02}"), seed)?;
    }
    Ok(())
}

fn unpack(target: &str, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for seed in corpus::read(target)? {
        let name = seed.path.file_stem().unwrap_or_default();
        fs::write(folder.join(name), seed.bytes)?;
    }
    Ok(())
}

fn add(target: &str, file: &Path) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    write(target, &name, &fs::read(file)?)
}
