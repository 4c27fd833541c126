//! `carrel ssh-config`: every desk as a host of ssh, for editors and programs that come by it.
//!
//! The way in is Carrel's own: a key of the house and a tunnel to a port. The ssh server is the template's (OpenSSH or
//! Dropbear), started inside when somebody comes, listening on the sandbox's loopback alone. What ssh itself checks is
//! therefore a formality, and its host keys are not kept.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use carrel_model::{
    TaskId,
    public::{Executed, NewExec, SandboxDetail, TaskView},
    sandbox::{EnvName, EnvValue, Phase},
};
use reqwest::Method;

use super::{Client, exec::quoted, sandbox::resolve, tunnel};
use crate::{
    cli::Common,
    data::DataDir,
    failure::{Exit, Failure},
    say,
};

/// What hosts are called: `carrel-` and the sandbox, or `carrel-task-42`.
const PREFIX: &str = "carrel-";
/// Tries to reach the server inside after it was started.
const TRIES: u32 = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Sandboxes or tasks to name one by one, for editors that offer a list; all of them as `carrel-*` when left out
    names: Vec<String>,
    /// As whom
    #[arg(long, short, default_value = "user")]
    user: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ProxyArgs {
    /// The sandbox or the task, with or without `carrel-` before it
    name: String,
    /// As whom the server inside runs
    #[arg(long, short, default_value = "user")]
    user: String,
}

impl ConfigArgs {
    pub(crate) async fn run(self, common: &Common) -> Result<(), Failure> {
        let identity = Identity::of(&DataDir::find(common.data.clone())?)?;
        identity.make().await?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(format!("this program does not know where it lies: {error}")))?;
        let hosts: Vec<String> =
            self.names.iter().map(|name| format!("{PREFIX}{}", name.trim_start_matches(PREFIX))).collect();
        let hosts = if hosts.is_empty() { format!("{PREFIX}*") } else { hosts.join(" ") };
        say::line(block(&hosts, &self.user, &program, common, &identity.secret));
        Ok(())
    }
}

/// A block for `~/.ssh/config`. A desk is a stranger's machine: no agent and no screen is forwarded to it.
fn block(hosts: &str, user: &str, program: &Path, common: &Common, identity: &Path) -> String {
    let mut command = vec![quoted(&program.to_string_lossy()), "--url".into(), quoted(&common.url)];
    if let Some(data) = &common.data {
        let data = std::path::absolute(data).unwrap_or_else(|_| data.clone());
        command.extend(["--data".into(), quoted(&data.to_string_lossy())]);
    }
    command.push("sandbox ssh-proxy --user %r %n".into());
    let lines = [
        format!("Host {hosts}"),
        format!("    User {user}"),
        format!("    ProxyCommand {}", command.join(" ")),
        format!("    IdentityFile \"{}\"", identity.display()),
        "    IdentitiesOnly yes".into(),
        "    ForwardAgent no".into(),
        "    ForwardX11 no".into(),
        "    StrictHostKeyChecking no".into(),
        "    UserKnownHostsFile /dev/null".into(),
        "    LogLevel ERROR".into(),
    ];
    lines.join("\n")
}

impl ProxyArgs {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = find(client, self.name.trim_start_matches(PREFIX)).await?;
        wake(client, &id).await?;
        let identity = Identity::of(&DataDir::find(client.common.data.clone())?)?;
        identity.make().await?;
        let port = port_of(&self.user);
        let server = prepare(client, &id, &self.user, &identity.public()?, port).await?;
        let line = match tunnel::open(client, &id, port).await {
            Ok(line) => line,
            Err(_) => {
                start(client, &id, &self.user, server).await?;
                reach(client, &id, port).await?
            }
        };
        tunnel::on_standard_streams(line).await;
        Ok(())
    }
}

/// The desk that is meant: a task's, or a sandbox by its id.
async fn find(client: &Client, name: &str) -> Result<String, Failure> {
    let Some(number) = name.strip_prefix("task-") else { return resolve(client, name).await };
    let number: TaskId = number
        .parse::<i64>()
        .ok()
        .and_then(|number| TaskId::try_from(number).ok())
        .ok_or_else(|| Failure::new(format!("`{name}` is no task")).exit(Exit::Usage))?;
    let task: TaskView = client.get(&format!("/tasks/{number}")).await?;
    task.sandbox_id.map(|id| id.to_string()).ok_or_else(|| {
        Failure::new(format!("{name} has no desk now")).hint("it gets one when it is started").exit(Exit::Conflict)
    })
}

async fn wake(client: &Client, id: &str) -> Result<(), Failure> {
    let detail: SandboxDetail = client.get(&format!("/sandboxes/{id}")).await?;
    if detail.sandbox.phase == Phase::Paused {
        let path = format!("/sandboxes/{id}/resume?wait=ready&timeout=60");
        client.send(client.request(Method::POST, &path)?).await?;
    }
    Ok(())
}

/// One server for each name: a server of one user lets nobody else in.
fn port_of(user: &str) -> u16 {
    let sum = user.bytes().fold(0u16, |sum, byte| sum.wrapping_mul(31).wrapping_add(u16::from(byte)));
    20_000 + sum % 10_000
}

/// Lets our key in, looks for a server, and gives it a host key. Prints how the server is started, one word on each line.
const PREPARE: &str = r#"set -eu
umask 077
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
folder="$HOME/.ssh"
mkdir -p "$folder"
touch "$folder/authorized_keys"
grep -qxF "$CARREL_SSH_KEY" "$folder/authorized_keys" || printf '%s\n' "$CARREL_SSH_KEY" >> "$folder/authorized_keys"
if sshd=$(command -v sshd) && { [ "$(id -u)" != 0 ] || grep -q '^sshd:' /etc/passwd; }; then
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    [ -s "$folder/carrel_openssh" ] || ssh-keygen -q -t ed25519 -N '' -f "$folder/carrel_openssh" >&2
    printf '%s\n' "$sshd" -D -e -f /dev/null -p "$CARREL_SSH_PORT" -h "$folder/carrel_openssh"
    for option in ListenAddress=127.0.0.1 PidFile=none UsePAM=no StrictModes=no PasswordAuthentication=no \
        KbdInteractiveAuthentication=no AuthorizedKeysFile=.ssh/authorized_keys "Subsystem=sftp internal-sftp"; do
        printf '%s\n' -o "$option"
    done
elif dropbear=$(command -v dropbear); then
    [ -s "$folder/carrel_dropbear" ] || dropbearkey -t ed25519 -f "$folder/carrel_dropbear" >&2
    printf '%s\n' "$dropbear" -F -E -s -p "127.0.0.1:$CARREL_SSH_PORT" -r "$folder/carrel_dropbear" -P "$folder/carrel_dropbear.pid"
else
    exit 127
fi
"#;

/// The words that start the server inside.
async fn prepare(client: &Client, id: &str, user: &str, key: &str, port: u16) -> Result<Vec<String>, Failure> {
    let usage = |error: carrel_model::Malformed| Failure::new(error.to_string());
    let mut env = BTreeMap::new();
    for (name, value) in [("CARREL_SSH_KEY", key.to_owned()), ("CARREL_SSH_PORT", port.to_string())] {
        env.insert(EnvName::try_from(name.to_owned()).map_err(usage)?, EnvValue::try_from(value).map_err(usage)?);
    }
    let new = NewExec {
        command: Some(PREPARE.to_owned()),
        user: Some(user.to_owned()),
        env: Some(env),
        ..NewExec::default()
    };
    let request = client.request(Method::POST, &format!("/sandboxes/{id}/execute"))?.json(&new);
    let done: Executed = client
        .fetch(request)
        .await
        .map_err(|failure| failure.hint("a desk may know no such user: `ssh -l root …` comes in as another"))?;
    match done.exit_code {
        Some(0) => Ok(done.stdout.lines().map(str::to_owned).collect()),
        Some(127) => Err(Failure::new(format!("the template of {id} has no ssh server")).hint(
            "put `openssh-server` or `dropbear-bin` into it; `carrel sandbox shell` and `carrel sandbox forward` need neither",
        )),
        _ => Err(Failure::new(format!("no ssh server could be prepared in {id}: {}", done.stderr.trim()))),
    }
}

async fn start(client: &Client, id: &str, user: &str, server: Vec<String>) -> Result<(), Failure> {
    let new = NewExec { argv: Some(server), user: Some(user.to_owned()), background: Some(true), ..NewExec::default() };
    let request = client.request(Method::POST, &format!("/sandboxes/{id}/execute"))?.json(&new);
    let _: Executed = client.fetch(request).await?;
    Ok(())
}

/// The line, once the server that was just started listens.
async fn reach(client: &Client, id: &str, port: u16) -> Result<reqwest::Upgraded, Failure> {
    let mut last = None;
    for _ in 0..TRIES {
        match tunnel::open(client, id, port).await {
            Ok(line) => return Ok(line),
            Err(failure) => last = Some(failure),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let hint = format!("`carrel sandbox logs {id}` tells what the server said");
    Err(last.unwrap_or_else(|| Failure::new("nobody answers")).hint(hint))
}

/// The key that ssh shows inside. It opens nothing but desks that this Carrel leads to.
struct Identity {
    secret: PathBuf,
}

impl Identity {
    fn of(data: &DataDir) -> Result<Identity, Failure> {
        let folder = std::path::absolute(data.path())
            .map_err(|error| Failure::new(format!("{} cannot be found: {error}", data.path().display())))?;
        Ok(Identity { secret: folder.join("ssh/id_ed25519") })
    }

    fn public(&self) -> Result<String, Failure> {
        let path = self.secret.with_extension("pub");
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))?;
        Ok(text.trim().to_owned())
    }

    /// Draws it once. Two who do so at the same moment end with one: the second finds it there.
    async fn make(&self) -> Result<(), Failure> {
        if self.secret.exists() && self.secret.with_extension("pub").exists() {
            return Ok(());
        }
        let trouble = |error: std::io::Error| {
            Failure::new(format!("no key for ssh could be made: {error}")).hint("install the ssh client")
        };
        let folder = self.secret.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(trouble)?;
        let draft = tempfile::tempdir_in(folder).map_err(trouble)?;
        let key = draft.path().join("key");
        let made = tokio::process::Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "carrel", "-f"])
            .arg(&key)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .status();
        if !made.await.map_err(trouble)?.success() {
            return Err(Failure::new("no key for ssh could be made: ssh-keygen refused"));
        }
        if std::fs::hard_link(&key, &self.secret).is_ok() {
            std::fs::rename(key.with_extension("pub"), self.secret.with_extension("pub")).map_err(trouble)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_names_the_program_the_server_and_no_secret() {
        let common = Common {
            data: Some("/data of mine".into()),
            url: "http://127.0.0.1:7070".into(),
            json: false,
            quiet: false,
        };
        let text = block("carrel-*", "root", Path::new("/bin/carrel"), &common, Path::new("/data of mine/ssh/id"));
        assert!(text.starts_with("Host carrel-*\n"), "{text}");
        assert!(text.contains(
            "ProxyCommand '/bin/carrel' --url 'http://127.0.0.1:7070' --data '/data of mine' sandbox ssh-proxy --user %r %n"
        ));
        assert!(text.contains("IdentityFile \"/data of mine/ssh/id\""));
        assert!(text.contains("ForwardAgent no") && !text.contains("crl_"));
    }

    #[test]
    fn everybody_inside_has_a_port_of_their_own() {
        assert_eq!(port_of("root"), port_of("root"));
        assert_ne!(port_of("root"), port_of("user"));
    }
}
