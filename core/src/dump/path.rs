//! Paths as texts: what is a valid `dump_path`, and when two paths are one (ge-dump spec §1.1.1, §2.3).

/// Longest `dump_path`, in characters.
pub const MAX_PATH: usize = 512;

/// What somebody who can look at the disk says about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nobody can look (in a browser): reported as not checked, not as an error.
    Unknown,
    /// A directory that can be read and written.
    Fine,
    /// Nothing is there.
    Missing,
    /// Something else than a directory is there.
    NotADirectory,
    /// A directory that cannot be read and written.
    NoAccess,
}

/// Looks at paths. Core does no I/O: the command line hands in what the disk says.
pub trait PathProbe {
    /// What is at `path`.
    fn probe(&self, path: &str) -> PathState;
}

impl<F: Fn(&str) -> PathState> PathProbe for F {
    fn probe(&self, path: &str) -> PathState {
        self(path)
    }
}

/// What is wrong with a path, in the order in which it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathError {
    Empty,
    TooLong,
    Address,
    State(PathState),
}

impl PathError {
    /// What was expected, and what to do.
    pub(super) fn words(self) -> (String, &'static str) {
        match self {
            Self::Empty => ("a path".to_owned(), "name an existing directory that can be read and written"),
            Self::TooLong => (format!("at most {MAX_PATH} characters"), "use a shorter path"),
            Self::Address => (
                "an existing directory, or `IPv4 address:directory`".to_owned(),
                "a path with `:` is read as `a.b.c.d:/dir`",
            ),
            Self::State(PathState::Missing) => {
                ("a directory that exists".to_owned(), "create it first: `mkdir -p`")
            }
            Self::State(PathState::NotADirectory) => {
                ("a directory".to_owned(), "something else has this name")
            }
            Self::State(_) => (
                "a directory that can be read and written".to_owned(),
                "change its owner or mode, or name another one",
            ),
        }
    }
}

/// Characters allowed in the directory behind an address.
const ALLOWED: &str = "-=[];\\,./!@#$%^&*()_+{}:?";

/// Checks a path; `Ok(false)` if nobody could look at it.
pub(super) fn check(path: &str, probe: &dyn PathProbe) -> Result<bool, PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.chars().count() > MAX_PATH {
        return Err(PathError::TooLong);
    }
    if let Some((host, directory)) = path.split_once(':') {
        let octets: Vec<&str> = host.split('.').collect();
        let octet = |text: &&str| {
            !text.is_empty()
                && text.len() <= 3
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && text.parse::<u8>().is_ok()
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || ALLOWED.contains(c);
        let good = octets.len() == 4 && octets.iter().all(octet) && !directory.is_empty();
        return if good && directory.chars().all(allowed) { Ok(true) } else { Err(PathError::Address) };
    }
    match probe.probe(path) {
        PathState::Fine => Ok(true),
        PathState::Unknown => Ok(false),
        state => Err(PathError::State(state)),
    }
}

/// The path without `.`, doubled and trailing slashes; `a/./b/` is `a/b`. `..` is resolved where it
/// has something to leave, as texts alone can tell.
pub fn clean(path: &str) -> String {
    let (host, path) = match path.split_once(':') {
        Some((host, rest)) => (Some(host), rest),
        None => (None, path),
    };
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    let cleaned = match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    };
    host.map_or(cleaned.clone(), |host| format!("{host}:{cleaned}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_texts() {
        for (path, expected) in [
            ("a/./b/", "a/b"),
            ("a/b", "a/b"),
            ("/e/", "/e"),
            ("//e//f", "/e/f"),
            ("/", "/"),
            ("./", "."),
            ("a/../b", "b"),
            ("../a", "../a"),
            ("/../a", "/a"),
            ("10.0.0.1:/d/", "10.0.0.1:/d"),
        ] {
            assert_eq!(clean(path), expected, "{path}");
        }
    }

    #[track_caller]
    fn checked(path: &str, state: PathState, expected: Result<bool, PathError>) {
        assert_eq!(check(path, &|_: &str| state), expected, "{path}");
    }

    #[test]
    fn addresses_are_not_looked_up_on_the_disk() {
        checked("10.0.0.1:/dump", PathState::Missing, Ok(true));
        checked("255.255.255.255:a", PathState::Missing, Ok(true));
        for bad in [
            "256.0.0.1:/d",
            "1.2.3:/d",
            "1.2.3.4.5:/d",
            "1.2.3.4:",
            "1.2.3.4:/a b",
            "x:/d",
            ":/d",
            "1..2.3:/d",
            "+1.2.3.4:/d",
            "1.2.3.4:/模",
        ] {
            checked(bad, PathState::Fine, Err(PathError::Address));
        }
    }

    #[test]
    fn length_and_state() {
        checked("", PathState::Fine, Err(PathError::Empty));
        checked(&"a".repeat(512), PathState::Fine, Ok(true));
        checked(&"模".repeat(512), PathState::Fine, Ok(true));
        checked(&"a".repeat(513), PathState::Fine, Err(PathError::TooLong));
        checked("/d", PathState::Unknown, Ok(false));
        for state in [PathState::Missing, PathState::NotADirectory, PathState::NoAccess] {
            checked("/d", state, Err(PathError::State(state)));
        }
    }
}
