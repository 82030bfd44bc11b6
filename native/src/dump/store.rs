//! Dump files on a disk that may be full, read-only, or gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;

use thunkscope_core::dump::sink::{Loss, Store, StoreError};

/// Files below a root. A file is written under another name and renamed, so that it is whole or not
/// there (T10).
#[derive(Debug)]
pub(crate) struct DiskStore {
    root: PathBuf,
}

impl DiskStore {
    /// Files below `root`, which must be there: if it goes, files are lost and not put elsewhere.
    ///
    /// From here on a file beyond the system's limit is an error of its write, where it would have
    /// ended the process.
    pub(crate) fn new(root: PathBuf) -> Self {
        // If the system refuses that, the limit is as it was: nothing else to be done.
        #[cfg(unix)]
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
        Self { root }
    }

    fn place(&self, path: &str) -> Result<PathBuf, Loss> {
        // Names are sanitised; a path that leads out of the root would be a bug, and is not followed.
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return Err(Loss::Other);
        }
        if !self.root.is_dir() {
            return Err(Loss::Vanished);
        }
        Ok(self.root.join(path))
    }
}

impl Store for DiskStore {
    fn write(&mut self, path: &str, parts: &[&[u8]]) -> Result<(), StoreError> {
        let place = self.place(path).map_err(StoreError::Lost)?;
        let lost = |error: &io::Error| StoreError::Lost(loss(error));
        let directory = place.parent().unwrap_or(&self.root);
        fs::create_dir_all(directory).map_err(|error| lost(&error))?;
        if place.symlink_metadata().is_ok() {
            return Err(StoreError::Exists);
        }
        let partial = directory.join(format!(".partial-{}", std::process::id()));
        let written = File::create(&partial).and_then(|mut file| {
            parts.iter().try_for_each(|part| file.write_all(part))?;
            file.flush()
        });
        let result = written.and_then(|()| fs::rename(&partial, &place));
        if let Err(error) = &result {
            // Whatever is left of it is of no use; if it cannot be removed either, so be it.
            let _ = fs::remove_file(&partial);
            return Err(lost(error));
        }
        Ok(())
    }

    fn append(&mut self, path: &str, text: &str) -> Result<(), Loss> {
        let place = self.place(path)?;
        let file = OpenOptions::new().create(true).append(true).open(place);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| loss(&error))
    }
}

fn loss(error: &io::Error) -> Loss {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Loss::Full,
        io::ErrorKind::FileTooLarge => Loss::TooLarge,
        io::ErrorKind::ReadOnlyFilesystem => Loss::ReadOnly,
        io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle => Loss::Vanished,
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Loss::NotADirectory,
        io::ErrorKind::PermissionDenied => Loss::NotAllowed,
        _ => Loss::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("thunkscope-store-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a scratch directory");
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_are_whole_and_never_overwritten() {
        let scratch = Scratch::new("whole");
        let mut store = DiskStore::new(scratch.0.clone());
        assert_eq!(store.write("T/a", &[b"one", b"two"]), Ok(()));
        assert_eq!(fs::read(scratch.0.join("T/a")).expect("a file"), b"onetwo");
        assert_eq!(store.write("T/a", &[b"x"]), Err(StoreError::Exists));
        assert_eq!(store.append("T/m", "l1\n").and_then(|()| store.append("T/m", "l2\n")), Ok(()));
        assert_eq!(fs::read_to_string(scratch.0.join("T/m")).expect("a file"), "l1\nl2\n");
        let names: Vec<_> = fs::read_dir(scratch.0.join("T"))
            .expect("a directory")
            .flatten()
            .map(|e| e.file_name())
            .collect();
        assert_eq!(names.len(), 2, "nothing partial is left: {names:?}");
    }

    #[test]
    fn paths_stay_inside() {
        let scratch = Scratch::new("inside");
        let mut store = DiskStore::new(scratch.0.clone());
        for path in ["../x", "/tmp/x", "a/../../x"] {
            assert_eq!(store.write(path, &[b"x"]), Err(StoreError::Lost(Loss::Other)), "{path}");
        }
    }

    #[test]
    fn a_directory_that_vanishes_or_is_a_file() {
        let scratch = Scratch::new("gone");
        let root = scratch.0.join("root");
        fs::create_dir(&root).expect("a directory");
        let mut store = DiskStore::new(root.clone());
        assert_eq!(store.write("a", &[b"x"]), Ok(()));
        fs::remove_dir_all(&root).expect("removed");
        assert_eq!(store.write("b", &[b"x"]), Err(StoreError::Lost(Loss::Vanished)));
        assert_eq!(store.append("m", "x"), Err(Loss::Vanished));
        assert!(!root.exists(), "nothing was made anew");
        fs::create_dir(&root).expect("a directory");
        fs::write(root.join("T"), b"file").expect("a file");
        assert_eq!(store.write("T/c", &[b"x"]), Err(StoreError::Lost(Loss::NotADirectory)));
    }

    #[test]
    fn causes_by_kind() {
        for (kind, expected) in [
            (io::ErrorKind::StorageFull, Loss::Full),
            (io::ErrorKind::QuotaExceeded, Loss::Full),
            (io::ErrorKind::FileTooLarge, Loss::TooLarge),
            (io::ErrorKind::ReadOnlyFilesystem, Loss::ReadOnly),
            (io::ErrorKind::NotADirectory, Loss::NotADirectory),
            (io::ErrorKind::NotFound, Loss::Vanished),
            (io::ErrorKind::PermissionDenied, Loss::NotAllowed),
            (io::ErrorKind::BrokenPipe, Loss::Other),
        ] {
            assert_eq!(loss(&io::Error::from(kind)), expected);
        }
    }

    /// A disk that is always full, where there is one.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_called_full() {
        let Ok(mut file) = OpenOptions::new().write(true).open("/dev/full") else { return };
        let error = file.write_all(b"x").expect_err("the device is full");
        assert_eq!(loss(&error), Loss::Full);
    }
}
