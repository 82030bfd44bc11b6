//! `cargo xtask`: set-up, serve, test, bench. Run it without arguments for the list.
#![forbid(unsafe_code)]

mod browser;
mod debian;
mod failure;
mod lint;
mod node;
mod oracle;
mod page;
mod process;
mod setup;
mod site;
mod size;
mod summary;
mod test;
mod tools;
mod tsan;
mod wasm_std;

use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::prelude::*;

use failure::{Failure, Result};
use process::{command, run};

const HELP: &str = "\
cargo xtask COMMAND

  serve [--port 8080] [--release] [--no-open]
                        install what is missing, build the page, serve it
  test [--host] [--wasm] [--browser]
                        every test there is, then a summary
  build                 the page for release, in dist/
  size                  how large dist/ is, against the budgets
  pages                 make what is made in www/: exhibits and pictures
  lint                  format, clippy, documentation, unsafe code, licences
  setup                 only install what is missing, for page and tests
  conformance DIR...    compare with what real XLA printed
  tsan [-- ARG...]      native tests under ThreadSanitizer (ARG: other tests, as
                        cargo test has them)
  bench [NAME] [-- ARG...]
                        run a benchmark
  shots [PART]          screenshots of every view (PART: of their names)
  bench-web [--seconds 120]
                        how soon the page answers, how evenly it plays
  oracle [--with-jax N] [--seed S] [--jax VERSION]
                        compile N random programs with real XLA and compare

THUNKSCOPE_WASM_STD=present|rustup|debian picks one way to have the standard
library of WebAssembly; without it each is tried in this order.
Nothing is ever installed with sudo.";

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("\nxtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result<ExitCode> {
    let mut arguments = lexopt::Parser::from_env();
    let name = match arguments.next()? {
        Some(Value(name)) => name.string()?,
        Some(Long("help") | Short('h')) | None => "help".to_owned(),
        Some(other) => return Err(other.unexpected().into()),
    };
    match name.as_str() {
        "help" => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        "serve" => {
            let mut options = site::Serve { port: 8080, release: false, open: true };
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("port") | Short('p') => options.port = arguments.value()?.parse()?,
                    Long("release") => options.release = true,
                    Long("no-open") => options.open = false,
                    other => return Err(other.unexpected().into()),
                }
            }
            site::serve(&options).map(done)
        }
        "test" => {
            let mut suites = test::Suites::default();
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("host") => suites.host = true,
                    Long("wasm") => suites.wasm = true,
                    Long("browser") => suites.browser = true,
                    other => return Err(other.unexpected().into()),
                }
            }
            // The summary has said what failed, and is to be the last that is printed.
            test::test(&suites).map(|failed| if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        "oracle" => {
            let mut options = oracle::Options::default();
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("with-jax") => options.programs = arguments.value()?.parse()?,
                    Long("seed") => options.seed = arguments.value()?.parse()?,
                    Long("jax") => options.version = Some(arguments.value()?.string()?),
                    other => return Err(other.unexpected().into()),
                }
            }
            oracle::oracle(&options).map(done)
        }
        "conformance" => {
            let here = std::env::current_dir().unwrap_or_default();
            let dirs: Vec<PathBuf> = values(&mut arguments)?.iter().map(|dir| here.join(dir)).collect();
            if dirs.is_empty() {
                return Err(Failure::new("conformance needs a folder")
                    .by_hand("cargo xtask conformance tests/oracle"));
            }
            run(&mut test::conformance_command(&dirs)).map(done)
        }
        "bench" => {
            let mut cargo = command("cargo");
            let words = values(&mut arguments)?;
            let package = match words.first().map(String::as_str) {
                // The peers of the executor are compiled for this benchmark alone.
                Some("executor") => "thunkscope-peers",
                // Runs the command line itself.
                Some("dump_off") => "thunkscope",
                _ => "thunkscope-tests",
            };
            cargo.args(["bench", "--locked", "-p", package]);
            if let Some((name, rest)) = words.split_first() {
                cargo.args(["--bench", name, "--"]).args(rest);
            }
            run(&mut cargo).map(done)
        }
        "tsan" => tsan::tsan(&values(&mut arguments)?).map(done),
        "shots" => {
            let only = match arguments.next()? {
                Some(Value(part)) => Some(part.string()?),
                Some(other) => return Err(other.unexpected().into()),
                None => None,
            };
            page::shots(only).map(done)
        }
        "bench-web" => {
            let mut seconds = None;
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("seconds") => seconds = Some(arguments.value()?.parse()?),
                    other => return Err(other.unexpected().into()),
                }
            }
            page::bench(seconds).map(done)
        }
        "setup" | "build" | "size" | "pages" | "lint" => {
            if let Some(other) = arguments.next()? {
                return Err(other.unexpected().into());
            }
            match name.as_str() {
                "setup" => setup::all().map(done),
                "build" => site::build().map(|_| ExitCode::SUCCESS),
                "size" => {
                    size::size().map(|broken| if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
                }
                "pages" => site::pages().map(done),
                _ => lint::lint().map(done),
            }
        }
        other => Err(Failure::new(format!("there is no command `{other}`")).by_hand("cargo xtask help")),
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

/// The rest of the arguments, as they are.
fn values(arguments: &mut lexopt::Parser) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for word in arguments.raw_args()? {
        let word = word
            .into_string()
            .map_err(|word| Failure::new(format!("not Unicode: {}", word.to_string_lossy())))?;
        if word != "--" {
            words.push(word);
        }
    }
    Ok(words)
}
