//! Prints how much space trees take:
//! `usage [--directories | --files] [--links] [--extensions] [--threads N] PATH...`

use heist_walk::Walk;
use heist_walk::usage::{Detail, UsageOptions, measure};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = Vec::new();
    let mut options = UsageOptions::new();
    let mut threads = None;
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--directories") => options.detail = Detail::Directories,
            Some("--files") => options.detail = Detail::Files,
            Some("--links") => options.count_links = true,
            Some("--extensions") => options.by_extension = true,
            Some("--threads") => {
                let number = arguments.next().ok_or("--threads needs a number")?;
                threads = Some(number.to_str().ok_or("--threads needs a number")?.parse()?);
            }
            _ => paths.push(argument),
        }
    }
    if paths.is_empty() {
        paths.push(".".into());
    }
    let walk = Walk::over(paths).threads(threads);
    let usage = measure(walk, &options, |error| eprintln!("{error}"))?;
    for root in &usage.roots {
        match root.size {
            Some(size) => println!("{} {size:?}", root.path.display()),
            None => println!("{} has nothing of its own", root.path.display()),
        }
    }
    for one in usage.extensions.iter().take(20) {
        println!(".{} {} files {:?}", one.extension.display(), one.files, one.size);
    }
    if let Some(tree) = &usage.tree {
        println!("{} nodes", tree.len());
    }
    Ok(())
}
