//! From text to steps.

use super::{Instruction, Recipe, Step, Word, word};
use crate::template::TemplateError;

const KNOWN: &str = "FROM, RUN, COPY, ENV, USER, WORKDIR, START and READY";

/// Understands a recipe, or says in one sentence what it does not, and in which line.
pub fn parse(text: &str) -> Result<Recipe, TemplateError> {
    let mut from = None;
    let mut steps = Vec::new();
    for (line, text) in lines(text) {
        let wrong = |why: &str| TemplateError::invalid(format!("line {line}: {why}"));
        let (keyword, rest) = text.split_once([' ', '\t']).unwrap_or((&text, ""));
        let (keyword, rest) = (keyword.to_ascii_uppercase(), rest.trim());
        if keyword == "FROM" {
            if from.is_some() {
                return Err(wrong("a recipe begins once; this is its second FROM"));
            }
            from = Some(only_word(rest, "FROM takes the name of one template or image").map_err(|why| wrong(&why))?);
            continue;
        }
        let instruction = instruction(&keyword, rest).map_err(|why| wrong(&why))?;
        if from.is_none() {
            return Err(wrong(&format!("a recipe begins with FROM, not with {keyword}")));
        }
        steps.push(Step { line, instruction });
    }
    match from {
        Some(from) => Ok(Recipe { from: from.fill(&Default::default()), steps }),
        None => Err(TemplateError::invalid("the recipe is empty: it begins with FROM and the name of a template")),
    }
}

/// The lines that say something, with their numbers; those that end in `\` go on in the next.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim();
        // Remarks and empty lines may stand anywhere, also between the lines of one instruction.
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let (bare, goes_on) = match bare.strip_suffix('\\') {
            Some(bare) => (bare, true),
            None => (bare, false),
        };
        let (number, mut whole) = open.take().unwrap_or((index + 1, String::new()));
        // The space before a line that goes on still parts two words.
        if line.starts_with([' ', '\t']) && !whole.is_empty() && !whole.ends_with(' ') {
            whole.push(' ');
        }
        whole.push_str(bare);
        if goes_on {
            open = Some((number, whole));
        } else {
            lines.push((number, whole));
        }
    }
    lines.extend(open);
    lines
}

fn instruction(keyword: &str, rest: &str) -> Result<Instruction, String> {
    if rest.is_empty() && is_known(keyword) {
        return Err(format!("{keyword} of what?"));
    }
    match keyword {
        "RUN" if rest.starts_with("--") => Err("RUN takes a command and no options".to_owned()),
        "RUN" => Ok(Instruction::Run { command: command(rest)?, user: None }),
        "COPY" => copy(rest),
        "ENV" => env(rest),
        "USER" => Ok(Instruction::User(only_word(rest, "USER takes one name")?)),
        "WORKDIR" => Ok(Instruction::Workdir(only_word(rest, "WORKDIR takes one folder")?)),
        "START" => Ok(Instruction::Start(command(rest)?)),
        "READY" => Ok(Instruction::Ready(command(rest)?)),
        other => Err(format!("`{other}` is not an instruction; there are {KNOWN}")),
    }
}

fn is_known(keyword: &str) -> bool {
    matches!(keyword, "RUN" | "COPY" | "ENV" | "USER" | "WORKDIR" | "START" | "READY")
}

/// A command for a shell; a list in brackets is quoted to be one.
fn command(rest: &str) -> Result<String, String> {
    match list(rest) {
        Some(words) if !words.is_empty() => {
            Ok(words.iter().map(|word| super::build::quoted(word)).collect::<Vec<_>>().join(" "))
        }
        Some(_) => Err("the list has no command".to_owned()),
        None => Ok(rest.to_owned()),
    }
}

fn list(rest: &str) -> Option<Vec<String>> {
    if rest.starts_with('[') { serde_json::from_str(rest).ok() } else { None }
}

fn copy(rest: &str) -> Result<Instruction, String> {
    let (mut owner, mut mode) = (None, None);
    let mut rest = rest;
    while rest.starts_with("--") {
        let (option, after) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
        rest = after.trim_start();
        if let Some(name) = option.strip_prefix("--chown=") {
            owner = Some(only_word(name, "--chown takes a name")?);
        } else if let Some(digits) = option.strip_prefix("--chmod=") {
            let bits = u32::from_str_radix(digits, 8).ok().filter(|bits| *bits <= 0o7777);
            mode = Some(bits.ok_or_else(|| format!("--chmod takes permissions such as 755, not `{digits}`"))?);
        } else {
            return Err(format!("COPY has no option `{option}`; it has --chown=user and --chmod=755"));
        }
    }
    let mut sources = match list(rest) {
        Some(words) => words.into_iter().map(Word::plain).collect(),
        None => word::split(rest)?,
    };
    match sources.pop() {
        Some(destination) if !sources.is_empty() => {
            Ok(Instruction::Copy { sources, destination, owner, mode, context: None })
        }
        _ => Err("COPY takes at least one source and a destination".to_owned()),
    }
}

fn env(rest: &str) -> Result<Instruction, String> {
    let words = word::split(rest)?;
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let usage = "ENV takes NAME=value, or a NAME and a value";
    let first = words.first().map(ToString::to_string).unwrap_or_default();
    let pairs = if first.contains('=') {
        words.iter().map(|word| word::assignment(word).ok_or(usage)).collect::<Result<Vec<_>, _>>()?
    } else {
        // The old way: one name, and the rest of the line, with its spaces.
        let (_, value) = rest.split_once([' ', '\t']).ok_or(usage)?;
        let quoted = format!("\"{}\"", value.trim().trim_matches('"'));
        vec![(first, word::split(&quoted)?.pop().unwrap_or_default())]
    };
    match pairs.iter().find(|(name, _)| !is_name(name)) {
        Some((name, _)) => Err(format!("`{name}` cannot be the name of a variable")),
        None => Ok(Instruction::Env(pairs)),
    }
}

fn only_word(rest: &str, usage: &str) -> Result<Word, String> {
    let mut words = word::split(rest)?;
    match (words.pop(), words.is_empty()) {
        (Some(word), true) => Ok(word),
        _ => Err(usage.to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_recipe_reads_as_it_is_written() {
        let recipe = parse(
            "# tools\n\nFROM debian:12\nrun apt-get update && \\\n  # why not\n\n  apt-get install -y 'x'\n\
             COPY --chown=user --chmod=755 a.txt \"b c\" /opt/$NAME/\nENV A=1 B=\"two $A\"\nENV C three and more\n\
             USER user\nWORKDIR /srv\nSTART ./serve --port 80 # not a remark\nREADY curl -sf localhost\nRUN [\"echo\", \"it's\"]\n",
        )
        .unwrap();
        assert_eq!(recipe.from, "debian:12");
        let lines: Vec<usize> = recipe.steps.iter().map(|step| step.line).collect();
        assert_eq!(lines, [4, 8, 9, 10, 11, 12, 13, 14, 15]);
        let run = |command: &str| Instruction::Run { command: command.to_owned(), user: None };
        assert_eq!(recipe.steps[0].instruction, run("apt-get update && apt-get install -y 'x'"));
        let Instruction::Copy { sources, destination, owner, mode, .. } = &recipe.steps[1].instruction else {
            panic!("{recipe:?}")
        };
        let values = BTreeMap::from([("NAME".to_owned(), "x".to_owned())]);
        assert_eq!(sources, &[Word::plain("a.txt"), Word::plain("b c")]);
        assert_eq!(destination.fill(&values), "/opt/x/");
        assert_eq!((owner.as_ref(), *mode), (Some(&Word::plain("user")), Some(0o755)));
        let Instruction::Env(pairs) = &recipe.steps[2].instruction else { panic!("{recipe:?}") };
        assert_eq!(pairs[1].1.fill(&BTreeMap::from([("A".to_owned(), "1".to_owned())])), "two 1");
        assert_eq!(
            recipe.steps[3].instruction,
            Instruction::Env(vec![("C".to_owned(), Word::plain("three and more"))])
        );
        assert_eq!(recipe.steps[6].instruction, Instruction::Start("./serve --port 80 # not a remark".to_owned()));
        assert_eq!(recipe.steps[8].instruction, run(r"'echo' 'it'\''s'"));
    }

    #[test]
    fn a_wrong_line_is_named_with_what_is_wrong() {
        assert_eq!(
            refusal("FROM host\n\nEXPOSE 80\n"),
            "line 3: `EXPOSE` is not an instruction; there are FROM, RUN, COPY, ENV, USER, WORKDIR, START and READY"
        );
        assert_eq!(refusal("RUN x\n"), "line 1: a recipe begins with FROM, not with RUN");
        assert_eq!(refusal("FROM a\nFROM b\n"), "line 2: a recipe begins once; this is its second FROM");
        assert_eq!(refusal("FROM a AS b\n"), "line 1: FROM takes the name of one template or image");
        assert_eq!(refusal("# only\n"), "the recipe is empty: it begins with FROM and the name of a template");
        assert_eq!(refusal("FROM a\nRUN\n"), "line 2: RUN of what?");
        assert_eq!(refusal("FROM a\nCOPY x\n"), "line 2: COPY takes at least one source and a destination");
        assert_eq!(refusal("FROM a\nENV 1=x\n"), "line 2: `1` cannot be the name of a variable");
        assert_eq!(refusal("FROM a\nENV X\n"), "line 2: ENV takes NAME=value, or a NAME and a value");
        assert_eq!(
            refusal("FROM a\nCOPY --chmod=abc x y\n"),
            "line 2: --chmod takes permissions such as 755, not `abc`"
        );
        assert_eq!(refusal("FROM a\nWORKDIR 'x\n"), "line 2: a quote is not closed");
        assert_eq!(refusal("FROM a\nRUN --mount=x y\n"), "line 2: RUN takes a command and no options");
    }

    proptest::proptest! {
        #[test]
        fn no_text_upsets_the_reader(text in "(?s).{0,200}") {
            let _ = parse(&text);
            let _ = parse(&format!("FROM x\nENV {text}\nCOPY {text}\n"));
        }
    }
}
