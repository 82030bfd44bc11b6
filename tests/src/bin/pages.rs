//! `pages WWW`: writes the files of `www/` that are made.
//!
//! Exit codes: 0 written, 2 usage, 3 something cannot be read or written.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(www) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: pages WWW");
        return ExitCode::from(2);
    };
    match write(&www) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", www.display());
            ExitCode::from(3)
        }
    }
}

fn write(www: &Path) -> std::io::Result<()> {
    for (path, bytes) in thunkscope_tests::pages::make(www)? {
        let path = www.join(path);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, bytes)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
