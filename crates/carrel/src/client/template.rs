//! `carrel template …`

use std::path::PathBuf;

use carrel_model::{
    ProviderName, TemplateName,
    public::{From, NewTemplate, Page, TemplateView},
};
use clap::Subcommand;
use eventsource_stream::Eventsource;
use futures::StreamExt;
use reqwest::Method;

use super::{Client, ago, copy};
use crate::{
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the templates
    Ls,
    /// Make a template: from a recipe and its folder, an archive, Debian's packages, or the host
    Build(Build),
    /// Make a template from an image in a registry
    Pull {
        /// The image, such as docker.io/library/debian:12
        reference: String,
        /// What to call it; the end of the reference when left out
        #[arg(long)]
        name: Option<TemplateName>,
        /// Who asks, when the registry wants to know; the password is read from CARREL_REGISTRY_PASSWORD
        #[arg(long)]
        username: Option<String>,
        /// Where it is made
        #[arg(long)]
        provider: Option<ProviderName>,
    },
    /// Show how a template is being made, until it is, or how it was
    Log {
        /// Its name
        name: TemplateName,
    },
    /// Forget templates
    Rm {
        /// Their names
        #[arg(required = true)]
        names: Vec<TemplateName>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Build {
    /// What to call it
    name: TemplateName,
    /// The folder that the recipe copies from, or an archive with --from archive
    context: Option<PathBuf>,
    /// The recipe, in the folder [default: Recipefile]
    #[arg(long, short, value_name = "FILE")]
    file: Option<String>,
    /// What it is made from: recipe, archive, debian or host
    #[arg(long, default_value = "recipe", value_parser = ["recipe", "archive", "debian", "host"])]
    from: String,
    /// With --from debian: the suite
    #[arg(long)]
    suite: Option<String>,
    /// With --from debian: a package on top of the smallest system
    #[arg(long = "package", value_name = "NAME")]
    packages: Vec<String>,
    /// Where it is made
    #[arg(long)]
    provider: Option<ProviderName>,
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Ls => list(client).await,
            Verb::Build(build) => build.run(client).await,
            Verb::Pull { reference, name, username, provider } => {
                let name = match name {
                    Some(name) => name,
                    None => name_of(&reference)?,
                };
                let password = std::env::var("CARREL_REGISTRY_PASSWORD").ok().filter(|_| username.is_some());
                let new = NewTemplate {
                    reference: Some(reference),
                    username,
                    password,
                    provider,
                    ..plain(name, From::Image)
                };
                let made = client.fetch(client.request(Method::POST, "/templates")?.json(&new)).await?;
                watch(client, made).await
            }
            Verb::Log { name } => {
                let made = client.fetch(client.request(Method::GET, &place(&name))?).await?;
                watch(client, made).await
            }
            Verb::Rm { names } => {
                for name in &names {
                    client.send(client.request(Method::DELETE, &place(name))?).await?;
                    if !client.json() {
                        say::line(name);
                    }
                }
                if client.json() { say::json(&names) } else { Ok(()) }
            }
        }
    }
}

impl Build {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let made = match &*self.from {
            "debian" | "host" => {
                let from = if self.from == "debian" { From::Debian } else { From::Host };
                let new = NewTemplate {
                    suite: self.suite,
                    packages: self.packages,
                    provider: self.provider,
                    ..plain(self.name, from)
                };
                client.fetch(client.request(Method::POST, "/templates")?.json(&new)).await?
            }
            kind => {
                let context = self.context.ok_or_else(|| {
                    Failure::new("there is nothing to make it from")
                        .hint("name a folder, or --from debian")
                        .exit(Exit::Usage)
                })?;
                let mut query = vec![("kind", kind.to_owned())];
                query.extend(self.file.map(|file| ("file", file)));
                query.extend(self.provider.map(|provider| ("provider", provider.to_string())));
                let body = match kind {
                    "recipe" => copy::packed(&context)?,
                    _ => copy::read(&context).await?,
                };
                let request = client.request(Method::PUT, &format!("{}/content", place(&self.name)))?;
                client.fetch(request.query(&query).body(body)).await?
            }
        };
        watch(client, made).await
    }
}

fn plain(name: TemplateName, from: From) -> NewTemplate {
    NewTemplate {
        name,
        provider: None,
        from,
        suite: None,
        packages: Vec::new(),
        reference: None,
        username: None,
        password: None,
        recipe: None,
    }
}

/// Shows how a making goes, and how it ends.
async fn watch(client: &Client, made: TemplateView) -> Result<(), Failure> {
    let log = client.request(Method::GET, &format!("{}/log", place(&made.name)))?.header("accept", "text/event-stream");
    let mut events = client.send(log).await?.bytes_stream().eventsource();
    while let Some(Ok(event)) = events.next().await {
        if event.event == "end" {
            break;
        }
        let text = serde_json::from_str::<serde_json::Value>(&event.data).ok();
        if let Some(text) = text.as_ref().and_then(|piece| piece["text"].as_str()).filter(|_| !client.quiet()) {
            text.lines().for_each(|line| say::aside(say::printable(line)));
        }
    }
    let template: TemplateView = client.get(&place(&made.name)).await?;
    if let Some(why) = template.failure() {
        return Err(Failure::new(format!("the template `{}` failed: {why}", made.name)));
    }
    show(client, &template)
}

async fn list(client: &Client) -> Result<(), Failure> {
    let page: Page<TemplateView> = client.get("/templates").await?;
    if client.json() {
        return say::json(&page.items);
    }
    if client.quiet() {
        page.items.iter().for_each(|template| say::line(&template.name));
        return Ok(());
    }
    say::table(&["NAME", "PHASE", "PROVIDER", "SIZE", "AGE", "FROM"], page.items.iter().map(row));
    Ok(())
}

pub(super) fn show(client: &Client, template: &TemplateView) -> Result<(), Failure> {
    if client.json() {
        return say::json(template);
    }
    if client.quiet() {
        say::line(&template.name);
        return Ok(());
    }
    say::table(&["NAME", "PHASE", "PROVIDER", "SIZE", "AGE", "FROM"], [row(template)]);
    Ok(())
}

fn row(template: &TemplateView) -> Vec<String> {
    vec![
        template.name.to_string(),
        template.phase.word().to_owned(),
        template.provider.to_string(),
        template.bytes.map(|bytes| indicatif::BinaryBytes(bytes).to_string()).unwrap_or_default(),
        template.ready_at.or(template.created_at).map(ago).unwrap_or_default(),
        brief(template.note.as_ref().or(template.origin.as_ref()).map_or("", |text| text)),
    ]
}

/// So much of a sentence as fits into a cell.
fn brief(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The path of a template. A name with `/` is one segment of it.
fn place(name: &TemplateName) -> String {
    format!("/templates/{}", name.as_str().replace('/', "%2F").replace(':', "%3A"))
}

fn name_of(reference: &str) -> Result<TemplateName, Failure> {
    let end = reference.split('@').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    end.to_lowercase().parse().map_err(|_| {
        Failure::new(format!("`{reference}` does not end in a name for a template"))
            .hint("give one with --name")
            .exit(Exit::Usage)
    })
}
