//! Git: a checkout against clones, a push against plain git, and what a forecast of conflicts costs.

mod backend;
pub(crate) mod clone;
pub(crate) mod forecast;
pub(crate) mod push;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::Outcome;

/// Git as a person runs it, with nobody's configuration.
fn git(folder: &Path, args: &[&str]) -> Outcome<String> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(args).env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_COUNT", "1");
    command.env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", "*");
    for (who, name) in [("AUTHOR", "Bench"), ("COMMITTER", "Bench")] {
        command.env(format!("GIT_{who}_NAME"), name).env(format!("GIT_{who}_EMAIL"), "bench@localhost");
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// How long something took, in microseconds.
fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64() * 1e6)
}

/// A repository with so many files of this many bytes altogether, none like another, in folders of fifty.
fn repository(place: &Path, files: usize, bytes: usize) -> Outcome<PathBuf> {
    let work = place.join("work");
    std::fs::create_dir_all(&work)?;
    git(&work, &["init", "-q", "-b", "main"])?;
    let each = (bytes / files).max(16);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut content = vec![0; each];
    for number in 0..files {
        // Half noise, half repeated: what compresses like source code does.
        for (at, byte) in content.iter_mut().enumerate() {
            if at % 2 == 0 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
            }
            *byte = b'a' + u8::try_from(state % 26).unwrap_or(0);
        }
        let folder = work.join(format!("f{}", number / 2500)).join(format!("{}", number / 50));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{number}.txt")), &content)?;
    }
    git(&work, &["add", "--all"])?;
    git(&work, &["commit", "-q", "-m", "feat: many files"])?;
    Ok(work)
}
