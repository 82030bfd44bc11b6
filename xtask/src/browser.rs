//! A Chromium and its driver, for tests.

use std::env;
use std::path::PathBuf;

use crate::debian;
use crate::failure::Result;
use crate::process::{find, step};

const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// The browser and the program that drives it.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    pub(crate) chromium: PathBuf,
    pub(crate) driver: PathBuf,
}

/// Finds a browser, installing it where that is possible. `Ok(Err(why))`: there is none; tests are to be skipped.
pub(crate) fn ensure() -> Result<std::result::Result<Browser, String>> {
    if let Ok(browser) = find_browser() {
        return Ok(Ok(browser));
    }
    if debian::can_install().is_ok() {
        step(
            "Debian packages: chromium and chromium-driver",
            "Tests run the page and the WebAssembly in a browser.",
        );
        debian::install(&PACKAGES)?;
    }
    Ok(find_browser().map_err(|what| {
        let hint = if debian::is_debian() {
            debian::install_command(&PACKAGES)
        } else {
            "install Chromium or Chrome and the chromedriver of the same version; \
             CHROME and CHROMEDRIVER can name them"
                .to_owned()
        };
        format!("{what} ({hint})")
    }))
}

fn find_browser() -> std::result::Result<Browser, &'static str> {
    let named = |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file());
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let mac = [
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
    ];
    let chromium = named("CHROME")
        .or_else(|| names.iter().find_map(|name| find(name)))
        .or_else(|| mac.iter().map(PathBuf::from).find(|path| path.is_file()))
        .ok_or("no Chromium or Chrome found")?;
    let driver = named("CHROMEDRIVER").or_else(|| find("chromedriver")).ok_or("no chromedriver found")?;
    Ok(Browser { chromium, driver })
}
