//! What is let by, what is not, and that nothing slips by unread.

use super::*;

fn rules(allow: &[&str], deny: &[&str]) -> CommandRules {
    let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    CommandRules { allow: read(allow), deny: read(deny) }
}

fn line(text: &str) -> Command {
    Command::Line(text.to_owned())
}

fn argv(words: &[&str]) -> Command {
    Command::Argv(words.iter().map(|word| (*word).to_owned()).collect())
}

#[test]
fn without_rules_everything_may_be_run() {
    assert_eq!(CommandRules::default().judge(&line("rm -rf / `x`")), Ok(()));
}

#[test]
fn a_program_alone_fits_whatever_its_arguments_are() {
    let only = rules(&["git", "make test", "npm run *", "cargo ** --locked"], &[]);
    for good in [
        "git",
        "git push --force",
        "/usr/bin/git status",
        "make test",
        "npm run lint",
        "cargo build --release --locked",
        "cargo --locked",
        "git add -A && git commit -m 'one two' && make test >log 2>&1",
        "cd='x' git status; (git log | git shortlog)",
        "if git diff --quiet; then make test; fi",
        "env GIT_AUTHOR_NAME=me git log",
        "sh -c 'git status && make test'",
        "echo=1\nmake test",
    ] {
        assert_eq!(only.judge(&line(good)), Ok(()), "{good}");
    }
    for bad in
        ["make", "make test install", "npm run", "npm run a b", "cargo build", "gitx", "curl x", "git log; curl x"]
    {
        assert!(only.judge(&line(bad)).is_err(), "{bad}");
    }
}

#[test]
fn an_allowance_is_for_the_program_and_not_for_whatever_bears_its_name() {
    let only = rules(&["git status", "make", "/opt/own/lint"], &[]);
    for good in ["git status", "/usr/bin/git status", "/usr/local/bin/make", "/opt/own/lint", "CI=1 make test"] {
        assert_eq!(only.judge(&line(good)), Ok(()), "{good}");
    }
    for bad in [
        "/tmp/git status",
        "./git status",
        "bin/make",
        "/usr/bin/../../tmp/make",
        "/opt/lint",
        "lint",
        "PATH=/tmp make",
        "PATH=/tmp; make",
        "PATH=$x:/tmp make",
        "env PATH=/tmp make",
        "env -i LD_PRELOAD=/tmp/x.so make",
        "LD_PRELOAD=/tmp/x.so git status",
        "BASH_ENV=/tmp/x sh -c 'git status'",
        "GIT_EXTERNAL_DIFF='sh -c id' git status",
        "GIT_SSH_COMMAND=/tmp/x git status",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.external GIT_CONFIG_VALUE_0=/tmp/x git status",
        "HOME=/tmp git status",
        "PAGER=/tmp/x git status",
        "CARGO_BUILD_RUSTC_WRAPPER=/tmp/x make",
    ] {
        assert!(only.judge(&line(bad)).is_err(), "{bad}");
    }
    assert!(only.judge(&argv(&["/tmp/git", "status"])).is_err());
    assert!(rules(&[], &["git"]).judge(&line("/tmp/git status")).is_err(), "what is forbidden is so wherever it lies");
    assert_eq!(rules(&["**"], &["git"]).judge(&line("/tmp/tool")), Ok(()));
    assert!(only.judge_variables(["CI", "PATH"].into_iter()).is_err());
    assert!(only.judge_variables(["GIT_EXTERNAL_DIFF"].into_iter()).is_err());
    assert_eq!(only.judge_variables(["CI", "LANG", "GIT_AUTHOR_NAME"].into_iter()), Ok(()));
    assert_eq!(CommandRules::default().judge_variables(["PATH"].into_iter()), Ok(()));
}

#[test]
fn programs_that_run_others_are_looked_through() {
    let closed = rules(&[], &["rm -*r* **"]);
    for bad in [
        "timeout 5 rm -rf x",
        "timeout -s9 5 rm -rf x",
        "timeout --foreground 5 rm -rf x",
        "timeout -k 1 5 rm -rf x",
        "ls | xargs rm -rf",
        "ls | xargs -0 rm -rf",
        "ls | xargs -n 1 rm -rf",
        "setsid rm -rf x",
        "stdbuf -o0 rm -rf x",
        "ionice -c3 rm -rf x",
        "chrt 1 rm -rf x",
        "flock /tmp/lock rm -rf x",
        "flock /tmp/lock -c 'rm -rf x'",
        "nohup timeout 5 env A=b rm -rf x",
        "script -qc 'rm -rf x'",
        "find . -name x -exec rm -rf {} +",
        "find . -exec true {} \\; -execdir rm -rf {} \\;",
        "trap 'rm -rf x' EXIT",
        "echo 'rm -rf x' | sh",
        "echo 'rm -rf x' | bash -s",
        "sh",
    ] {
        assert!(closed.judge(&line(bad)).is_err(), "{bad}");
    }
    for good in [
        "timeout 5 make test",
        "ls | xargs -0 grep x",
        "find . -name '*.o' -exec touch {} +",
        "find . -type f",
        "trap 'echo over' EXIT",
        "trap - INT",
        "sh script.sh",
        "exec bash -il; exec sh -i",
        "flock /tmp/lock make",
    ] {
        assert_eq!(closed.judge(&line(good)), Ok(()), "{good}");
    }
    let only = rules(&["make test", "find", "grep **"], &[]);
    for good in ["timeout 60 make test", "find . -name x", "find . -exec grep x {} +", "ls=1 timeout 5 make test"] {
        assert_eq!(only.judge(&line(good)), Ok(()), "{good}");
    }
    for bad in ["timeout 60 make", "find . -exec cat {} +", "xargs cat"] {
        assert!(only.judge(&line(bad)).is_err(), "{bad}");
    }
}

#[test]
fn a_prohibition_is_found_wherever_it_stands_in_a_line() {
    let closed = rules(&[], &["git ** push **", "rm -*r*", "curl", "/opt/secret/tool"]);
    for bad in [
        "git push",
        "git -C x push origin",
        "true && git push",
        "true;git push",
        "echo $(git push)",
        "echo \"today $(git push) was\"",
        "(cd x; git push)",
        "bash -lc 'git push'",
        "sh -ec \"git push\"",
        "sh -c -x 'git push'",
        "eval git push",
        "exec git push",
        "FOO=1 git push",
        "env A=b git push",
        "sudo curl x",
        "timeout 5 curl x",
        "timeout --foreground 5m nice curl x",
        "echo x | xargs -0 rm -rf",
        "setsid curl x",
        "stdbuf -o0 curl x",
        "flock /tmp/x curl x",
        "find . -name x -exec rm -rf {} +",
        "find . -exec true ';' -execdir curl {} \\;",
        "trap 'rm -rf' EXIT",
        "g'i't push",
        "gi\\t push",
        "\"git\" push",
        "git $x",
        "git \"$x\"",
        "rm -rf",
        "/usr/bin/curl http://x",
        "while true; do curl x; done",
        "{ curl x; }",
        "! curl x",
        "true | curl x",
        "true & curl x",
        ">/dev/null curl x",
        "/opt/secret/tool",
    ] {
        assert!(
            matches!(closed.judge(&line(bad)), Err(Refused::Forbidden { .. })),
            "{bad}: {:?}",
            closed.judge(&line(bad))
        );
    }
    for good in [
        "git status",
        "git commit -m push-ups",
        "echo curl",
        "echo $HOME",
        "tool",
        "rm x",
        "timeout 5 make",
        "timeout",
        "xargs",
        "find . -name curl",
        "find . -exec rm x {} +",
        "trap - EXIT",
        "for x in a b; do echo $x; done",
    ] {
        assert_eq!(closed.judge(&line(good)), Ok(()), "{good}");
    }
    assert!(closed.judge(&argv(&["git", "push"])).is_err());
    assert!(closed.judge(&argv(&["/bin/sh", "-c", "git push"])).is_err());
    assert_eq!(closed.judge(&argv(&["echo", "$(git push)"])), Ok(()), "no shell reads it");
}

#[test]
fn what_cannot_be_read_is_not_guessed() {
    let closed = rules(&[], &["curl"]);
    for odd in [
        "`curl x`",
        "$x y",
        "${x} y",
        "cat <<EOF\ncurl\nEOF",
        "f() { curl x; }; f",
        "case x in *) curl;; esac",
        "echo 'open",
        "echo $(open",
        "sh -c \"$x\"",
        "eval $x",
        "diff <(curl x) y",
        "echo ${x:-$(curl y)}",
        "$'curl' x",
        "sudo -u root curl",
        "env --split-string='curl x'",
        "cu* x",
    ] {
        assert!(
            matches!(closed.judge(&line(odd)), Err(Refused::Unreadable { .. })),
            "{odd}: {:?}",
            closed.judge(&line(odd))
        );
    }
}

#[test]
fn an_unknown_word_fits_no_allowance_but_the_widest() {
    let only = rules(&["echo *", "cat **"], &[]);
    assert!(only.judge(&line("echo $x")).is_err(), "it may become two words");
    assert_eq!(only.judge(&line("cat $x *.txt")), Ok(()));
}

#[test]
fn a_refusal_says_what_would_allow_it() {
    let only = rules(&["git"], &[]);
    let Err(Refused::NotListed { runs }) = only.judge(&line("make  'test' x")) else { panic!("it is not listed") };
    assert_eq!(runs, "make test x");
    assert_eq!(CommandRules::pattern_for(&runs).unwrap().as_str(), "make test x");
    assert_eq!(CommandRules::pattern_for("echo '*'"), None);
}

#[test]
fn patterns_of_characters() {
    for (pattern, text, fits) in [
        ("*", "", true),
        ("a*c", "abbc", true),
        ("a*c", "abb", false),
        ("?", "", false),
        ("?b*", "abc", true),
        ("**", "x", true),
        ("a*b*c", "axxbyyc", true),
        ("task_*", "task_show", true),
    ] {
        assert_eq!(is_like(pattern, text), fits, "{pattern} {text}");
    }
}

proptest::proptest! {
    #[test]
    fn reading_never_panics_and_never_hides_a_plain_program(before in "[ -~\n]{0,40}", after in "[ -~]{0,20}") {
        let closed = rules(&[], &["forbidden"]);
        let _ = closed.judge(&line(&before));
        // After a line end that nothing has opened, a program is a program.
        if line::read(&before).is_ok() && !before.ends_with('\\') {
            let text = format!("{before}\nforbidden {after}");
            proptest::prop_assert!(closed.judge(&line(&text)).is_err(), "{text:?}");
        }
    }
}
