//! What real programs printed, read again. Kept by `CARREL_KEEP_TRANSCRIPTS=… tests/agents/run`.

use std::path::Path;

use carrel_agent::{AgentSettings, Dialect};
use serde_json::Value;

use crate::bench::{Printed, read};

#[test]
fn what_real_programs_printed_is_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/transcripts");
    let mut stories: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    stories.sort();
    assert!(stories.len() >= 10, "the transcripts are missing");
    for story in stories {
        let name = story.file_stem().unwrap().to_str().unwrap().to_owned();
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&story).unwrap()).unwrap();
        let lines = |stream: &str| {
            let lines = kept[stream].as_array().unwrap().iter().map(|line| format!("{}\n", line.as_str().unwrap()));
            lines.collect::<String>().into_bytes()
        };
        let exit = kept["exit"].as_i64().map(|code| i32::try_from(code).unwrap());
        let printed = Printed { stdout: lines("stdout"), stderr: lines("stderr"), exit };
        let dialect = match name.split_once("-acp") {
            Some(_) => Dialect::Acp,
            None => Dialect::from_word(name.split('-').next().unwrap()).unwrap(),
        };
        let (moments, ending) = read(dialect, &AgentSettings::default(), &printed);
        insta::assert_json_snapshot!(name, in_order(serde_json::json!({"moments": moments, "ending": ending})));
    }
}

/// The same whatever features the JSON library was built with: names in order, fractions to the ninth digit.
fn in_order(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: std::collections::BTreeMap<_, _> = fields.into_iter().collect();
            sorted.into_iter().map(|(name, value)| (name, in_order(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(in_order).collect(),
        Value::Number(number) if number.is_f64() => {
            let fraction: f64 = number.as_f64().map(|number| format!("{number:.9}")).unwrap().parse().unwrap();
            fraction.into()
        }
        other => other,
    }
}
