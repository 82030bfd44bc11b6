//! What has to be installed for what. Each step looks first and is silent when there is nothing to do.

use crate::failure::Result;
use crate::wasm_std::WasmToolchain;
use crate::{browser, node, tools, wasm_std};

/// All that building the page needs.
pub(crate) fn for_page() -> Result<WasmToolchain> {
    if !tools::are_installed() {
        println!(
            "The first set-up takes 10 to 30 minutes on two cores, most of it for two programs compiled here."
        );
    }
    let toolchain = wasm_std::ensure()?;
    tools::ensure_crates()?;
    tools::ensure_wasm_bindgen()?;
    tools::ensure_trunk()?;
    Ok(toolchain)
}

/// `cargo xtask setup`: everything, for the page and for the tests.
pub(crate) fn all() -> Result<()> {
    let toolchain = for_page()?;
    wasm_std::make_default_here(toolchain)?;
    let node = node::ensure()?;
    let browser = browser::ensure()?;
    println!("Ready.");
    println!("  {}", wasm_std::describe(toolchain));
    println!("  trunk and wasm-bindgen are installed");
    match node {
        Ok(()) => println!("  wasm-opt and the driver of the browser tests are installed"),
        Err(why) => println!("  Left out: wasm-opt and browser tests. {why}"),
    }
    match browser {
        Ok(browser) => println!("  Browser for tests: {}", browser.chromium.display()),
        Err(why) => println!("  Left out: tests in a browser. {why}"),
    }
    println!("Next: cargo xtask serve, or cargo xtask test");
    Ok(())
}
