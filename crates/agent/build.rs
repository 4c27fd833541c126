//! Builds `carrel-acp` as a static program and lays it where `include_bytes!` finds it.
//!
//! It runs inside sandboxes, as envd does, and is built the same way and in the same folder.
#![allow(clippy::print_stdout)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where we are"));
    let workspace = here.ancestors().nth(2).expect("the crate lies in a workspace");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    for input in ["crates/acp/src", "crates/acp/Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    println!("cargo::rerun-if-env-changed=CARREL_ACP");
    let ready = match env::var_os("CARREL_ACP") {
        Some(ready) => PathBuf::from(ready),
        None => build(workspace, &out),
    };
    fs::copy(&ready, out.join("carrel-acp")).expect("the built program can be copied");
}

fn build(workspace: &Path, out: &Path) -> PathBuf {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo says for which processor");
    let target = format!("{arch}-unknown-linux-gnu");
    // OUT_DIR is TARGET/PROFILE/build/PACKAGE/out.
    let folder = out.ancestors().nth(4).expect("OUT_DIR lies in the target folder").join("guest");
    let cargo = env::var_os("CARGO").expect("cargo says which cargo");
    let mut command = Command::new(cargo);
    command
        .current_dir(workspace)
        .args(["build", "--quiet", "--package", "carrel-acp", "--bin", "carrel-acp", "--features", "program"])
        .args(["--profile", "guest", "--target", &target, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_PROFILE_DEV_DEBUG");
    let status = command.status().expect("cargo can be run again");
    assert!(status.success(), "carrel-acp could not be built");
    folder.join(target).join("guest").join("carrel-acp")
}
