//! Finding and reading the files that a command is pointed at.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thunkscope_core::diagnostic::Diagnostic;
use thunkscope_core::import::{self, Imported, ReadOptions};

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 2 << 30;

/// Most files looked at under one directory.
const MAX_FILES: usize = 100_000;

/// Deepest directory looked into.
const MAX_DEPTH: usize = 16;

/// What was found at the paths given.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Programs with the file each came from, in the order of the paths, then by file name.
    pub(crate) programs: Vec<(PathBuf, Imported)>,
    /// Files that could not be read, and why.
    pub(crate) errors: Vec<(PathBuf, Diagnostic)>,
    /// Files inside directories that are no programs at all.
    pub(crate) skipped: usize,
}

/// Reads every program at `paths`: files, or directories and everything below them.
///
/// A file named by the user must be a program; among the files of a directory, those that are
/// something else are only counted.
pub(crate) fn read_all(paths: &[PathBuf], options: &ReadOptions) -> Found {
    let mut found = Found::default();
    for path in paths {
        if path.is_dir() {
            let before = found.programs.len() + found.errors.len();
            let mut files = Vec::new();
            list(path, 0, &mut files, &mut found.errors);
            for file in files {
                match read(&file, options) {
                    Ok(imported) => found.programs.push((file, imported)),
                    Err(error) if is_something_else(&file, &error) => found.skipped += 1,
                    Err(error) => found.errors.push((file, error)),
                }
            }
            if found.programs.len() + found.errors.len() == before {
                let nothing = Diagnostic::error("FS003", "directory", "at least one program").hint(
                    "an executable (exec.bin), a JAX cache entry (*-cache) or a thunkscope.program/1 JSON file; \
                     see `thunkscope explain --help` for how to get one",
                );
                found.errors.push((path.clone(), nothing));
            }
        } else {
            match read(path, options) {
                Ok(imported) => found.programs.push((path.clone(), imported)),
                Err(error) => found.errors.push((path.clone(), error)),
            }
        }
    }
    found
}

/// All files below `directory`, by name. Links to directories are not followed: they may go round.
/// What cannot be looked at is told, and the rest goes on.
fn list(directory: &Path, depth: usize, files: &mut Vec<PathBuf>, errors: &mut Vec<(PathBuf, Diagnostic)>) {
    let mut fail = |error: Diagnostic| errors.push((directory.to_owned(), error));
    if depth > MAX_DEPTH {
        let expected = format!("directories at most {MAX_DEPTH} deep");
        return fail(Diagnostic::error("FS004", "directory", expected).hint("name it by itself"));
    }
    let entries = match fs::read_dir(directory).and_then(|all| all.collect::<io::Result<Vec<_>>>()) {
        Ok(entries) => entries,
        Err(error) => return fail(unreadable("directory", &error)),
    };
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            list(&path, depth + 1, files, errors);
        } else if path.is_file() {
            if files.len() >= MAX_FILES {
                let expected = format!("at most {MAX_FILES} files");
                errors.push((directory.to_owned(), Diagnostic::error("FS004", "directory", expected)));
                return;
            }
            files.push(path);
        }
    }
}

/// Whether a file of a directory is no program, rather than a broken one.
fn is_something_else(path: &Path, error: &Diagnostic) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named_like_one = name == "exec.bin" || name.ends_with("-cache");
    // Empty, of no known format, or JSON of another format.
    !named_like_one && ["XI001", "XI002", "PG001", "PG002"].contains(&error.code.as_str())
}

fn read(path: &Path, options: &ReadOptions) -> Result<Imported, Diagnostic> {
    let bytes = read_file(path)?;
    import::read(&bytes, &name_of(path), options)
}

/// The bytes of a file.
///
/// # Errors
/// `FS001` if it cannot be read or is no regular file (a pipe might never end), `FS002` if it is
/// larger than 2 GiB.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let about = fs::metadata(path).map_err(|error| unreadable("file", &error))?;
    if !about.is_file() {
        let (found, hint) = if about.is_dir() {
            ("a directory", "name a file in it")
        } else {
            ("a pipe, a socket or a device", "write it to a file first")
        };
        return Err(Diagnostic::error("FS001", "file", "a regular file").found(found).hint(hint));
    }
    let too_large = || Diagnostic::error("FS002", "file", format!("at most {MAX_FILE} bytes"));
    if about.len() > MAX_FILE {
        return Err(too_large().found(about.len()));
    }
    let mut bytes = Vec::with_capacity(about.len() as usize);
    let file = fs::File::open(path).map_err(|error| unreadable("file", &error))?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| unreadable("file", &error))?;
    if bytes.len() as u64 > MAX_FILE { Err(too_large()) } else { Ok(bytes) }
}

fn unreadable(what: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error("FS001", what, format!("a {what} that can be read")).found(error)
}

/// What to call the program in `path`: `moe10/exec.bin` is `moe10`, `moe10-cache` is itself.
pub(crate) fn name_of(path: &Path) -> String {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let file = part(path.file_name()).unwrap_or_default();
    let parent = path.parent().and_then(|parent| part(parent.file_name()));
    match parent {
        Some(parent) if file == "exec.bin" => parent,
        _ => part(path.file_stem()).unwrap_or(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_after_what_tells_them_apart() {
        assert_eq!(name_of(Path::new("a/moe10/exec.bin")), "moe10");
        assert_eq!(name_of(Path::new("exec.bin")), "exec");
        assert_eq!(name_of(Path::new("cache/jit_f-0123-cache")), "jit_f-0123-cache");
        assert_eq!(name_of(Path::new("a/mine.json")), "mine");
    }
}
