//! Reads unified diffs, as far as a comment on a line needs it.

use crate::{Place, Side};

/// Whether a place can be seen in a diff: its line is in one of the hunks, on its side.
pub(crate) fn shows(diff: &str, place: &Place) -> bool {
    let Some(wanted) = place.line else { return false };
    let (mut old_path, mut new_path) = ("", "");
    let (mut old_line, mut new_line) = (0, 0);
    let (mut old_left, mut new_left) = (0, 0);
    for line in diff.lines() {
        if old_left == 0 && new_left == 0 {
            if let Some(path) = line.strip_prefix("--- ") {
                old_path = path.strip_prefix("a/").unwrap_or(path);
            } else if let Some(path) = line.strip_prefix("+++ ") {
                new_path = path.strip_prefix("b/").unwrap_or(path);
            } else if let Some(((from, count), (to, many))) = hunk(line) {
                (old_line, old_left, new_line, new_left) = (from, count, to, many);
            }
            continue;
        }
        let (old_here, new_here) = match line.as_bytes().first() {
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            Some(b'\\') => continue,
            _ => (true, true),
        };
        let hit = match place.side {
            Side::Old => old_here && old_line == wanted && old_path == place.path,
            Side::New => new_here && new_line == wanted && new_path == place.path,
        };
        if hit {
            return true;
        }
        if old_here {
            (old_line, old_left) = (old_line + 1, old_left.saturating_sub(1));
        }
        if new_here {
            (new_line, new_left) = (new_line + 1, new_left.saturating_sub(1));
        }
    }
    false
}

/// The two ranges of `@@ -1,2 +3,4 @@`.
fn hunk(line: &str) -> Option<((u32, u32), (u32, u32))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    Some((range(old)?, range(new)?))
}

fn range(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((from, count)) => Some((from.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_seen_only_where_the_diff_shows_it() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ fn\n keep\n--- old\n+new\n keep\n\
                    diff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+only\n";
        let at = |path: &str, line, side| shows(diff, &Place { path: path.into(), line: Some(line), side });
        assert!(at("x", 3, Side::New) && at("x", 4, Side::New) && at("x", 4, Side::Old) && at("x", 5, Side::New));
        assert!(!at("x", 2, Side::New) && !at("x", 6, Side::New) && !at("z", 3, Side::New));
        assert!(at("y", 1, Side::New) && !at("y", 1, Side::Old) && !at("y", 2, Side::New));
        assert!(!shows("", &Place { path: "x".into(), line: Some(1), side: Side::New }));
    }
}
