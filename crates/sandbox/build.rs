//! Builds the guest's daemon as a static program and lays it where `include_bytes!` finds it.
//!
//! It is another program for another world, with flags of its own, so it has a build of its own, in a folder beside
//! ours: one build serves every profile and every checkout that shares the folder.
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
    for input in ["crates/envd/src", "crates/envd/Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    println!("cargo::rerun-if-env-changed=CARREL_ENVD");
    let ready = match env::var_os("CARREL_ENVD") {
        Some(ready) => PathBuf::from(ready),
        None => build(workspace, &out),
    };
    fs::copy(&ready, out.join("envd")).expect("the built daemon can be copied");
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
        .args(["build", "--quiet", "--package", "carrel-envd", "--bin", "envd", "--features", "daemon"])
        .args(["--profile", "guest", "--target", &target, "--target-dir"])
        .arg(&folder)
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_PROFILE_DEV_DEBUG");
    let status = command.status().expect("cargo can be run again");
    assert!(status.success(), "the guest's daemon could not be built");
    folder.join(target).join("guest").join("envd")
}
