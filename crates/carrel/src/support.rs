//! `carrel support`: one file to send to whoever helps. Secrets are absent by construction: it is put together from
//! numbers, words of our own and names of settings; no value that somebody typed, no log, no row, nobody's work.

use std::{fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    cli::{Common, FileArgs},
    client::Client,
    config::{Understood, understand},
    data::DataDir,
    df, doctor,
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, clap::Args)]
pub(crate) struct SupportArgs {
    /// Where to write it; it must not be there yet
    #[arg(default_value = "carrel-support.json")]
    file: PathBuf,
    #[command(flatten)]
    config: FileArgs,
}

pub(crate) async fn support(data: &DataDir, args: SupportArgs, common: &Common) -> Result<(), Failure> {
    let client = Client::new(common)?;
    let metrics = async {
        let response = client.send(client.at(Method::GET, "/metrics")?).await?;
        response.text().await.map_err(|error| client.unreachable(&error))
    };
    let understood = understand(data, args.config.config.as_deref(), &[])?;
    let told = json!({
        "carrel": env!("CARGO_PKG_VERSION"),
        "at": jiff::Timestamp::now(),
        "findings": doctor::states(data, &args.config, common).await?,
        "settings": settings(&understood),
        "disk": df::measure(data.path(), understood.config.shared_library().as_deref()).ok(),
        "ready": client.readiness().await.ok().map(|ready| ready.status),
        "metrics": metrics.await.ok().map(|text| numbers(&text)),
    });
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.file).map_err(|error| {
        Failure::new(format!("{} cannot be written: {error}", args.file.display())).exit(Exit::Conflict)
    })?;
    let text = serde_json::to_string_pretty(&told).map_err(|error| Failure::new(error.to_string()))?;
    writeln!(file, "{text}").map_err(|error| Failure::new(error.to_string()))?;
    say::line(args.file.display());
    say::aside("carrel: read it before you send it; it is meant to hold nothing that you would mind");
    Ok(())
}

/// Which settings were changed, and their values where those are numbers or yes and no.
fn settings(understood: &Understood) -> Value {
    let changed = understood.origins.iter().filter(|(_, (_, origin))| origin != "default");
    let shown = |value: &str| match value.parse::<f64>().is_ok() || ["true", "false"].contains(&value) {
        true => value.to_owned(),
        false => "(set)".to_owned(),
    };
    changed.map(|(key, (value, _))| (key.clone(), Value::from(shown(value)))).collect::<serde_json::Map<_, _>>().into()
}

/// The samples of the house's own metrics. Their labels are routes, phases and names of providers.
fn numbers(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with("carrel_")).map(str::to_owned).collect()
}
