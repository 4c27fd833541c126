//! Finds the built board. Without Node there is none: then a page that says so stands in its place.

use std::{env, fs, path::Path};

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let built = Path::new(&here).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", built.display());
    let folder = if built.join("index.html").is_file() {
        built.canonicalize().expect("it is there")
    } else {
        let folder = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("no-board");
        fs::create_dir_all(&folder).expect("the build folder can be written");
        fs::write(folder.join("index.html"), NO_BOARD).expect("the build folder can be written");
        // What is not there is looked for again at every build, so that a board that appears is found.
        println!("cargo::rerun-if-changed={}", built.join("index.html").display());
        println!("cargo::warning=the board is not built in: install Node 20 or newer and run `make build`");
        folder
    };
    println!("cargo::rustc-env=CARREL_BOARD={}", folder.display());
}

const NO_BOARD: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Carrel</title>
<style>body { font: 1.1rem/1.5 system-ui; max-width: 36rem; margin: 15vh auto; padding: 0 1rem }</style>
<h1>The board is not built in</h1>
<p>This Carrel was built on a machine without Node.js. The API and the command line work; only the pages are missing.</p>
<p>To have them: install Node 20 or newer, then run <code>make build</code> and start Carrel again.</p>
</html>
"#;
