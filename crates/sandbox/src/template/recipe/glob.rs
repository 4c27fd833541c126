//! Names with wildcards, and the list of what a context leaves out.

/// Whether a name matches a pattern of `*`, `?`, `[abc]`, `[!a-z]` and letters; none of them stands for `/`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    part(&pattern, &name)
}

pub(super) fn is_wild(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// One pattern against one name, with one way back: a `*` takes one letter more when the rest does not fit.
fn part(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while from < name.len() {
        if pattern.get(at) == Some(&'*') {
            back = Some((at + 1, from));
            at += 1;
            continue;
        }
        match one(&pattern[at.min(pattern.len())..], name[from]) {
            Some(length) => {
                at += length;
                from += 1;
            }
            None => match back {
                Some((after, taken)) => {
                    back = Some((after, taken + 1));
                    (at, from) = (after, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// How much of a pattern one letter matches.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => {
            let Some(end) = pattern.iter().skip(2).position(|letter| *letter == ']').map(|at| at + 2) else {
                return (letter == '[').then_some(1);
            };
            let (not, set) = match pattern[1] {
                '!' | '^' => (true, &pattern[2..end]),
                _ => (false, &pattern[1..end]),
            };
            let mut found = false;
            let mut at = 0;
            while at < set.len() {
                if at + 2 < set.len() && set[at + 1] == '-' {
                    found |= (set[at]..=set[at + 2]).contains(&letter);
                    at += 3;
                } else {
                    found |= set[at] == letter;
                    at += 1;
                }
            }
            (found != not).then_some(end + 1)
        }
        '\\' if pattern.len() > 1 => (pattern[1] == letter).then_some(2),
        same => (*same == letter).then_some(1),
    }
}

/// What a context leaves out, by the lines of its ignore file; the last line that matches decides.
#[derive(Debug, Default)]
pub(super) struct Ignore {
    rules: Vec<(bool, Vec<String>)>,
}

impl Ignore {
    pub(super) fn parse(text: &str) -> Self {
        let mut rules = Vec::new();
        for line in text.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (out, pattern) = match line.strip_prefix('!') {
                Some(pattern) => (false, pattern),
                None => (true, line),
            };
            let parts: Vec<String> =
                pattern.split('/').filter(|part| !matches!(*part, "" | ".")).map(ToOwned::to_owned).collect();
            if !parts.is_empty() {
                rules.push((out, parts));
            }
        }
        Ignore { rules }
    }

    /// Whether some line takes back what another left out, so that one must look into folders that are left out.
    pub(super) fn takes_back(&self) -> bool {
        self.rules.iter().any(|(out, _)| !out)
    }

    /// Whether a path is left out, by itself or with a folder above it.
    pub(super) fn leaves_out(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let mut left_out = false;
        for (out, pattern) in &self.rules {
            if (1..=parts.len()).any(|length| path_matches(pattern, &parts[..length])) {
                left_out = *out;
            }
        }
        left_out
    }
}

fn path_matches(pattern: &[String], path: &[&str]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => (0..=path.len()).any(|skipped| path_matches(rest, &path[skipped..])),
        Some((first, rest)) => match path.split_first() {
            Some((name, below)) => matches(first, name) && path_matches(rest, below),
            None => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_names() {
        for (pattern, name) in [
            ("*", "a"),
            ("*.rs", "a.rs"),
            ("a?c", "abc"),
            ("[a-c]x", "bx"),
            ("[!a]", "b"),
            ("a*b*c", "a1b2b3c"),
            ("", ""),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("*.rs", "a.rsx"), ("a?c", "ac"), ("[a-c]x", "dx"), ("[!a]", "a"), ("a", ""), ("a\\*", "ab")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_last_line_of_an_ignore_file_decides() {
        let ignore = Ignore::parse("# no\ntarget/\n*.log\n!keep.log\n**/secret\nnode_modules\n");
        for path in ["target", "target/a/b", "x.log", "a/b/secret", "secret", "node_modules/x"] {
            assert!(ignore.leaves_out(path), "{path}");
        }
        for path in ["keep.log", "src/target", "a/x.log", "a/secrets"] {
            assert!(!ignore.leaves_out(path), "{path}");
        }
        assert!(ignore.takes_back());
    }

    proptest::proptest! {
        #[test]
        fn a_name_matches_itself_and_a_star(name in "[a-z.]{0,12}") {
            proptest::prop_assert!(matches(&name, &name));
            proptest::prop_assert!(matches("*", &name));
        }

        #[test]
        fn no_pattern_upsets_the_matcher(pattern in ".{0,20}", name in ".{0,20}") {
            let _ = matches(&pattern, &name);
            let _ = Ignore::parse(&pattern).leaves_out(&name);
        }
    }
}
