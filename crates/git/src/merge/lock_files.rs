//! Files that are made by a program and never merged by hand: one side is taken, and the program makes it anew.

/// How a file of a known name is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockRule {
    /// The name of the file, in any folder.
    pub file: &'static str,
    /// The command, run in the file's folder in a sandbox.
    pub command: &'static [&'static str],
}

/// A file that is to be made anew before the merge is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regenerate {
    /// The file.
    pub path: String,
    /// The folder in which the command runs; empty for the root.
    pub folder: String,
    /// The command.
    pub command: Vec<String>,
}

/// What npm is asked: nothing but the file, and nobody else is asked about it.
const NPM: &[&str] = &["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];

/// The command leaves alone what it need not change, and runs no scripts of packages.
const RULES: [LockRule; 14] = [
    LockRule { file: "Cargo.lock", command: &["cargo", "update", "--workspace"] },
    LockRule { file: "package-lock.json", command: NPM },
    LockRule { file: "npm-shrinkwrap.json", command: NPM },
    LockRule { file: "yarn.lock", command: &["yarn", "install", "--mode=update-lockfile"] },
    LockRule { file: "pnpm-lock.yaml", command: &["pnpm", "install", "--lockfile-only", "--ignore-scripts"] },
    LockRule { file: "bun.lock", command: &["bun", "install", "--lockfile-only", "--ignore-scripts"] },
    LockRule { file: "poetry.lock", command: &["poetry", "lock"] },
    LockRule { file: "uv.lock", command: &["uv", "lock"] },
    LockRule { file: "pdm.lock", command: &["pdm", "lock", "--update-reuse"] },
    LockRule { file: "Pipfile.lock", command: &["pipenv", "lock"] },
    LockRule { file: "go.sum", command: &["go", "mod", "tidy"] },
    LockRule { file: "Gemfile.lock", command: &["bundle", "lock"] },
    LockRule { file: "composer.lock", command: &["composer", "update", "--lock", "--no-scripts"] },
    LockRule { file: "flake.lock", command: &["nix", "flake", "lock"] },
];

/// The rule for a path, by the name of its file.
pub fn lock_rule(path: &str) -> Option<&'static LockRule> {
    let name = path.rsplit('/').next().unwrap_or(path);
    RULES.iter().find(|rule| rule.file == name)
}

impl LockRule {
    pub(super) fn at(&self, path: &str) -> Regenerate {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        Regenerate {
            path: path.to_owned(),
            folder: folder.to_owned(),
            command: self.command.iter().map(|word| (*word).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_is_known_by_its_name_in_any_folder() {
        assert_eq!(lock_rule("web/package-lock.json").unwrap().at("web/package-lock.json").folder, "web");
        assert_eq!(lock_rule("Cargo.lock").unwrap().at("Cargo.lock").folder, "");
        for other in ["Cargo.toml", "notCargo.lock", "Cargo.lock/readme", "lock"] {
            assert!(lock_rule(other).is_none(), "{other}");
        }
    }
}
