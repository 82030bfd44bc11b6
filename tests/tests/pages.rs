//! What is made for `www/` and committed is what the core makes now.

use std::path::Path;

use thunkscope_core::exhibit::Exhibit;

#[test]
fn the_files_in_www_are_up_to_date() {
    let www = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www");
    let files = thunkscope_tests::pages::make(&www).expect("makes");
    assert!(files.len() > 3, "only {} files", files.len());
    for (path, made) in files {
        let found = std::fs::read(www.join(&path)).unwrap_or_default();
        assert!(found == made, "{} is not what is made now: run `cargo xtask pages`", path.display());
    }
}

#[test]
fn the_exhibits_in_www_are_read_and_small() {
    let www = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/exhibits");
    for entry in std::fs::read_dir(www).expect("a folder") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        Exhibit::from_bytes(&bytes).expect("an exhibit");
        assert!(bytes.len() < 16 << 10, "{} bytes", bytes.len());
    }
}
