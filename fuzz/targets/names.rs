//! Names, paths and addresses that people and agents type. What is believed is written as it was read.
#![no_main]

use std::{fmt::Display, str::FromStr};

use carrel_model::{AgentId, Branch, CommitId, RefName, RepoName, SandboxId, TaskId, TemplateName};

fn there_and_back<T: FromStr + Display + PartialEq>(text: &str) {
    if let Ok(name) = text.parse::<T>() {
        let again = name.to_string().parse::<T>();
        assert!(again.is_ok_and(|again| again == name), "{text:?} is read once and not again");
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    there_and_back::<AgentId>(text);
    there_and_back::<Branch>(text);
    there_and_back::<CommitId>(text);
    there_and_back::<RefName>(text);
    there_and_back::<RepoName>(text);
    there_and_back::<SandboxId>(text);
    there_and_back::<TaskId>(text);
    there_and_back::<TemplateName>(text);
    let _ = serde_json::from_str::<carrel_model::public::NewSandbox>(text);
    let _ = serde_json::from_str::<carrel_model::public::NewTask>(text);
    let _ = serde_json::from_str::<carrel_model::parcel::Parcel>(text);
});
