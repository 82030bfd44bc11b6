//! What the disk says about a path, and finding dump files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::dump::path::PathState;

/// What is at `path`. Whether it can be written is tried out: modes do not tell it all.
pub(super) fn probe(path: &str, no_disk: bool) -> PathState {
    if no_disk {
        return PathState::Unknown;
    }
    let path = Path::new(path);
    match fs::metadata(path) {
        Ok(about) if !about.is_dir() => PathState::NotADirectory,
        Ok(_) => {
            let trial = path.join(format!(".thunkscope-{}", std::process::id()));
            let written = fs::File::create_new(&trial).is_ok();
            // Gone again at once; if that fails there is an empty file, and nothing to be done.
            let _ = fs::remove_file(&trial);
            if written && fs::read_dir(path).is_ok() { PathState::Fine } else { PathState::NoAccess }
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => PathState::NoAccess,
        Err(_) => PathState::Missing,
    }
}

/// Most files below one directory.
const MAX_FILES: usize = 100_000;
/// Deepest directory that is looked into.
const MAX_DEPTH: usize = 16;

/// Dump files at a path: itself, or those below it by name, without manifests, mappings and exports.
pub(super) fn dumps(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut files = Vec::new();
    if path.is_dir() {
        list(path, 0, &mut files)?
    } else {
        files.push(path.to_owned())
    }
    Ok(files)
}

fn list(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let unreadable = |error: io::Error| {
        Diagnostic::error("FS001", "directory", "a directory that can be read").found(error)
    };
    let mut entries =
        fs::read_dir(directory).and_then(|all| all.collect::<io::Result<Vec<_>>>()).map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            if depth < MAX_DEPTH {
                list(&path, depth + 1, files)?;
            }
        } else if path.is_file()
            && ![".jsonl", ".npy", ".txt", ".json"].iter().any(|end| name.ends_with(end))
            && name != "mapping.csv"
        {
            if files.len() >= MAX_FILES {
                let expected = format!("at most {MAX_FILES} files");
                return Err(Diagnostic::error("FS004", "directory", expected).hint("name a part of it"));
            }
            files.push(path);
        }
    }
    Ok(())
}
