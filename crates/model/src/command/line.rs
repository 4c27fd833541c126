//! Reads which programs a line of the shell runs, without running it.
//!
//! It knows words, quotes, `;`, `&`, `|`, groups, redirections, assignments, `$(…)` and the words of loops and
//! conditions. Where it is not sure it says so and reads nothing: whoever closes a desk wants no guesses.

/// A word of a command, as far as it is known before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Exactly this.
    Known(String),
    /// Something that is known only when it runs; as it was written.
    Unknown(String),
}

impl Word {
    /// As a person would type it.
    pub fn shown(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
        match self {
            Word::Known(text) if !text.is_empty() && text.chars().all(plain) => text.clone(),
            Word::Known(text) => format!("'{}'", text.replace('\'', r"'\''")),
            Word::Unknown(text) => text.clone(),
        }
    }
}

/// The programs that a line runs, each with its arguments; or what is in the way of knowing.
type Read = Result<Vec<Vec<Word>>, &'static str>;

/// Lines within lines are followed so deep.
const DEEPEST: u8 = 8;

/// Words after which a command begins.
const OPENERS: [&str; 8] = ["if", "then", "else", "elif", "do", "while", "until", "!"];
/// Words that end something and are followed by nothing of interest.
const CLOSERS: [&str; 3] = ["fi", "done", "}"];
/// Programs that run what follows their options.
const CARRIERS: [&str; 15] = [
    "exec", "command", "nohup", "env", "sudo", "time", "nice", "builtin", "setsid", "stdbuf", "ionice", "unshare",
    "setpriv", "xargs", "doas",
];
/// Programs that run what follows their options and one word more: a time, a file, a mask.
const PORTERS: [&str; 5] = ["timeout", "flock", "chrt", "taskset", "setarch"];
/// What `find` runs begins after one of these.
const FINDS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
/// Programs that read a line of the shell.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// What is said of a line that sets a variable which decides what a name means.
pub(super) const STEERS: &str = "a variable that decides which program is meant";

/// Variables by which shells, interpreters and tools are told to run something else.
const STEERING: [&str; 38] = [
    "PATH",
    "CDPATH",
    "ENV",
    "BASH_ENV",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "HOME",
    "XDG_CONFIG_HOME",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "SSH_ASKPASS",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "NODE_OPTIONS",
    "NODE_PATH",
    "JAVA_TOOL_OPTIONS",
    "MAKEFLAGS",
    "MAKEFILES",
    "CC",
    "CXX",
    "RUSTC",
    "RUSTDOC",
    "TAR_OPTIONS",
    "GCONV_PATH",
];
/// And those that begin so.
const STEERING_BEGINNINGS: [&str; 7] = ["LD_", "GIT_", "CARGO_", "RUSTC_", "RUSTFLAGS", "npm_config_", "BASH_FUNC_"];
/// These only say who somebody is.
const NAMING: [&str; 2] = ["GIT_AUTHOR_", "GIT_COMMITTER_"];

/// Whether a variable decides which program a name means, or what runs before it or because of it.
pub(super) fn steers(name: &str) -> bool {
    let begins = |with: &[&str]| with.iter().any(|beginning| name.starts_with(beginning));
    STEERING.contains(&name) || (begins(&STEERING_BEGINNINGS) && !begins(&NAMING))
}

/// Reads a line.
pub fn read(line: &str) -> Read {
    read_at(line, 0)
}

/// What an argv runs: itself, or what it carries.
pub fn unfold(argv: Vec<Word>) -> Read {
    unfold_at(argv, 0)
}

fn read_at(line: &str, depth: u8) -> Read {
    if depth > DEEPEST {
        return Err("lines within lines within lines");
    }
    let mut reader = Reader { rest: line, depth, found: Vec::new(), words: Vec::new() };
    reader.run(None)?;
    Ok(reader.found)
}

fn unfold_at(mut argv: Vec<Word>, depth: u8) -> Read {
    if depth > DEEPEST {
        return Err("lines within lines within lines");
    }
    let Some(Word::Known(program)) = argv.first() else { return Ok(vec![argv]) };
    let name = program.rsplit('/').next().unwrap_or(program).to_owned();
    if name == "eval" {
        let mut line = String::new();
        for word in &argv[1..] {
            let Word::Known(text) = word else { return Err("`eval` of a variable") };
            line = line + text + " ";
        }
        return read_at(&line, depth + 1);
    }
    if SHELLS.contains(&name.as_str())
        && let Some(place) = argv[1..].iter().position(|word| match word {
            Word::Known(text) => text.starts_with('-') && !text.starts_with("--") && text.contains('c'),
            Word::Unknown(_) => false,
        })
    {
        // Options may stand between `-c` and its line.
        let is_option = |word: &&Word| matches!(word, Word::Known(text) if text.starts_with(['-', '+']));
        let line = argv[place + 2..].iter().find(|word| !is_option(word));
        let Some(Word::Known(line)) = line else { return Err("a shell that is given a variable") };
        return read_at(line, depth + 1);
    }
    // One that is given nothing reads its lines from elsewhere; whoever sits at a terminal says so, and may.
    if SHELLS.contains(&name.as_str()) && argv[1..].iter().all(is_flag_without_terminal) {
        return Err("a shell that reads its lines from elsewhere");
    }
    if name == "trap" {
        return match argv.get(1) {
            Some(Word::Known(line)) if line != "-" => read_at(line, depth + 1),
            Some(Word::Unknown(_)) => Err("`trap` of a variable"),
            _ => Ok(vec![argv]),
        };
    }
    if name == "script" {
        return Err("`script`, which runs a line of its own");
    }
    if name == "find" {
        return found(argv, depth);
    }
    if PORTERS.contains(&name.as_str()) {
        let is_option = |word: &Word| matches!(word, Word::Known(text) if text.starts_with('-'));
        let Some(place) = argv[1..].iter().position(|word| !is_option(word)) else { return Ok(vec![argv]) };
        // The value of an option would be taken for the word before the program.
        if !argv[1..=place].iter().all(has_its_value) {
            return Err("a program behind options of another");
        }
        return match argv.get(place + 2) {
            Some(Word::Known(text)) if text.starts_with('-') => Err("a program behind options of another"),
            Some(_) => unfold_at(argv.split_off(place + 2), depth + 1),
            None => Ok(vec![argv]),
        };
    }
    if CARRIERS.contains(&name.as_str()) {
        let splits = matches!(name.as_str(), "env" | "sudo" | "doas" | "time" | "nice" | "nohup" | "command" | "exec");
        if splits && argv.iter().any(|word| matches!(word, Word::Known(text) if text.starts_with("--s"))) {
            return Err("a program behind options of another");
        }
        let carried = |word: &Word| match word {
            Word::Known(text) => !text.starts_with('-') && !is_assignment(text),
            Word::Unknown(_) => true,
        };
        let Some(place) = argv[1..].iter().position(carried) else { return Ok(vec![argv]) };
        if argv[1..=place].iter().any(|word| matches!(word, Word::Known(text) if is_steering(text))) {
            return Err(STEERS);
        }
        // An option that takes a value would hide the program behind it.
        let is_bare = |text: &str| name == "xargs" && matches!(text, "-0" | "-r" | "-t" | "-x");
        let takes_value = |word: &Word| matches!(word, Word::Known(text) if text.len() == 2 && text.starts_with('-') && !is_bare(text));
        if place > 0 && takes_value(&argv[place]) {
            return Err("a program behind options of another");
        }
        let mut carried = argv.split_off(place + 1);
        if name == "xargs" {
            carried.push(Word::Unknown("…".to_owned()));
        }
        return unfold_at(carried, depth + 1);
    }
    Ok(vec![argv])
}

/// An option of a shell that does not put it before a terminal.
fn is_flag_without_terminal(word: &Word) -> bool {
    match word {
        Word::Known(text) if text.starts_with("--") => text != "--login",
        Word::Known(text) => text.starts_with(['-', '+']) && !text.contains(['i', 'l']),
        Word::Unknown(_) => false,
    }
}

/// Options such as `-s9` and `--signal=9`: what follows is a word of its own.
fn has_its_value(word: &Word) -> bool {
    match word {
        Word::Known(text) if text.starts_with("--") => text.contains('=') || text == "--foreground",
        Word::Known(text) => text.len() > 2,
        Word::Unknown(_) => false,
    }
}

/// What `find` runs: itself, and each of its `-exec`.
fn found(argv: Vec<Word>, depth: u8) -> Read {
    let is = |word: &Word, texts: &[&str]| matches!(word, Word::Known(text) if texts.contains(&text.as_str()));
    let mut all = Vec::new();
    let mut rest = &argv[..];
    while let Some(place) = rest.iter().position(|word| is(word, &FINDS)) {
        rest = &rest[place + 1..];
        let end = rest.iter().position(|word| is(word, &[";", "+"])).unwrap_or(rest.len());
        let run = rest[..end].iter().map(|word| match word {
            // The names that it finds.
            Word::Known(text) if text.contains("{}") => Word::Unknown(text.clone()),
            word => word.clone(),
        });
        all.extend(unfold_at(run.collect(), depth + 1)?);
        rest = &rest[end..];
    }
    all.insert(0, argv);
    Ok(all)
}

fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// An assignment to a variable that decides what a name means.
fn is_steering(text: &str) -> bool {
    is_assignment(text) && text.split_once('=').is_some_and(|(name, _)| steers(name))
}

struct Reader<'a> {
    rest: &'a str,
    depth: u8,
    found: Vec<Vec<Word>>,
    words: Vec<Word>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Reads until the end, or until the `)` of a group or substitution.
    fn run(&mut self, closing: Option<char>) -> Result<(), &'static str> {
        loop {
            match self.peek() {
                None if closing.is_some() => return Err("a bracket that is not closed"),
                None => return self.end(),
                Some(c) if Some(c) == closing => {
                    self.take();
                    return self.end();
                }
                Some(' ' | '\t') => {
                    self.take();
                }
                Some('\\') if self.rest.starts_with("\\\n") => self.rest = &self.rest[2..],
                Some('#') => self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]),
                Some(';' | '&' | '|' | '\n') => {
                    if self.rest.starts_with(";;") {
                        return Err("a `case`");
                    }
                    self.take();
                    self.end()?;
                }
                Some('(') if self.words.is_empty() => {
                    self.take();
                    self.nested(')')?;
                }
                Some('(') => return Err("a function"),
                Some(')') => return Err("a `case`"),
                Some('<' | '>') => self.redirect()?,
                Some(_) => {
                    let word = self.word()?;
                    // `2>` and its like: the number belongs to the redirection.
                    let is_number =
                        matches!(&word, Word::Known(text) if text.bytes().all(|byte| byte.is_ascii_digit()));
                    if !(is_number && matches!(self.peek(), Some('<' | '>'))) {
                        self.words.push(word);
                    }
                }
            }
        }
    }

    /// Reads a group or a substitution that has begun.
    fn nested(&mut self, closing: char) -> Result<(), &'static str> {
        if self.depth >= DEEPEST {
            return Err("lines within lines within lines");
        }
        let mut inner = Reader { rest: self.rest, depth: self.depth + 1, found: Vec::new(), words: Vec::new() };
        inner.run(Some(closing))?;
        self.rest = inner.rest;
        self.found.extend(inner.found);
        Ok(())
    }

    fn redirect(&mut self) -> Result<(), &'static str> {
        if self.rest.starts_with("<<") {
            return Err("a text within the line, `<<`");
        }
        while let Some('<' | '>' | '&' | '|') = self.peek() {
            self.take();
        }
        if self.peek() == Some('(') {
            return Err("a command in place of a file");
        }
        while let Some(' ' | '\t') = self.peek() {
            self.take();
        }
        self.word().map(drop)
    }

    /// One word, with what it runs itself.
    fn word(&mut self) -> Result<Word, &'static str> {
        let begin = self.rest;
        let (mut text, mut is_known) = (String::new(), true);
        let mut is_first = true;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.take();
                    let end = self.rest.find('\'').ok_or("a quote that is not closed")?;
                    text.push_str(&self.rest[..end]);
                    self.rest = &self.rest[end + 1..];
                }
                '"' => {
                    self.take();
                    is_known &= self.quoted(&mut text)?;
                }
                '\\' => {
                    self.take();
                    match self.take() {
                        Some('\n') => {}
                        Some(c) => text.push(c),
                        None => return Err("a backslash at the end"),
                    }
                }
                '$' => {
                    self.take();
                    self.expansion()?;
                    is_known = false;
                }
                '`' => return Err("backticks; write `$(…)`"),
                '*' | '?' | '[' | '{' | '~' if c != '~' || is_first => {
                    // File names, known only when it runs. A lone brace opens a group, a lone bracket is a program.
                    self.take();
                    let is_alone = is_first && matches!(self.peek(), None | Some(' ' | '\t' | '\n' | ';'));
                    is_known &= is_alone && matches!(c, '{' | '[');
                    text.push(c);
                }
                c => {
                    self.take();
                    text.push(c);
                }
            }
            is_first = false;
        }
        let written = &begin[..begin.len() - self.rest.len()];
        Ok(if is_known { Word::Known(text) } else { Word::Unknown(written.to_owned()) })
    }

    /// The inside of double quotes; whether all of it is known.
    fn quoted(&mut self, text: &mut String) -> Result<bool, &'static str> {
        let mut is_known = true;
        loop {
            match self.take().ok_or("a quote that is not closed")? {
                '"' => return Ok(is_known),
                '\\' => match self.take() {
                    Some(c @ ('$' | '`' | '"' | '\\')) => text.push(c),
                    Some('\n') => {}
                    Some(c) => text.extend(['\\', c]),
                    None => return Err("a quote that is not closed"),
                },
                '$' => {
                    self.expansion()?;
                    is_known = false;
                }
                '`' => return Err("backticks; write `$(…)`"),
                c => text.push(c),
            }
        }
    }

    /// What follows a `$`. A command in it is one that the line runs.
    fn expansion(&mut self) -> Result<(), &'static str> {
        match self.peek() {
            Some('(') if self.rest.starts_with("((") => Err("arithmetic"),
            Some('(') => {
                self.take();
                self.nested(')')
            }
            Some('{') => {
                let end = self.rest.find('}').ok_or("a bracket that is not closed")?;
                if self.rest[..end].contains(['$', '`', '(', '"', '\'', '\\', '@']) {
                    return Err("a variable within a variable");
                }
                self.rest = &self.rest[end + 1..];
                Ok(())
            }
            Some('\'' | '"') => Err("a quote with a `$` before it"),
            _ => {
                let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                match self.peek() {
                    Some(c) if name(c) => {
                        let end = self.rest.find(|c| !name(c)).unwrap_or(self.rest.len());
                        self.rest = &self.rest[end..];
                    }
                    Some('@' | '*' | '#' | '?' | '$' | '!' | '-') => {
                        self.take();
                    }
                    _ => {}
                }
                Ok(())
            }
        }
    }

    /// A simple command has ended.
    fn end(&mut self) -> Result<(), &'static str> {
        let mut words = std::mem::take(&mut self.words);
        loop {
            let Some(first) = words.first() else { return Ok(()) };
            if matches!(first, Word::Known(text) | Word::Unknown(text) if is_steering(text)) {
                return Err(STEERS);
            }
            let Word::Known(text) = first else {
                // `X=$y` assigns; anything else that is not known is a program nobody knows.
                if matches!(first, Word::Unknown(written) if is_assignment(written)) {
                    words.remove(0);
                    continue;
                }
                return Err("the program is named by a variable");
            };
            match text.as_str() {
                "for" | "select" => return Ok(()),
                "case" | "function" | "coproc" => return Err("a `case` or a function"),
                "[[" => return Ok(()),
                text if OPENERS.contains(&text) || text == "{" || is_assignment(text) => drop(words.remove(0)),
                text if CLOSERS.contains(&text) => drop(words.remove(0)),
                _ => break,
            }
        }
        self.found.extend(unfold_at(words, self.depth)?);
        Ok(())
    }
}
