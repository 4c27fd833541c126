//! `carrel sandbox forward`: ports of a sandbox as ports of this machine, and the raw line under it.

use reqwest::Method;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use super::{Client, exec::stdin, sandbox::resolve};
use crate::{
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Forward {
    /// The sandbox: its id, or the beginning of it
    id: String,
    /// The ports: PORT, or LOCAL:PORT for another number here; LOCAL 0 takes any that is free
    #[arg(required = true, value_name = "[LOCAL:]PORT", value_parser = pair)]
    ports: Vec<(u16, u16)>,
}

/// The port here, and the port inside.
fn pair(text: &str) -> Result<(u16, u16), String> {
    let (here, inside) = text.split_once(':').unwrap_or((text, text));
    let number = |word: &str| word.parse::<u16>().map_err(|_| format!("`{word}` is no port"));
    match (number(here)?, number(inside)?) {
        (_, 0) => Err("0 is no port inside".into()),
        pair => Ok(pair),
    }
}

impl Forward {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        let mut doors = tokio::task::JoinSet::new();
        for (here, inside) in self.ports {
            // For this machine alone: whoever may come to it comes with the key of whoever started this.
            let listener = TcpListener::bind(("127.0.0.1", here)).await.map_err(|error| {
                Failure::new(format!("port {here} of this machine cannot be listened on: {error}"))
                    .hint(format!("take another: `carrel sandbox forward {id} 0:{inside}`"))
            })?;
            let address = listener.local_addr().map_err(|error| Failure::new(error.to_string()))?;
            say::line(format_args!("{address} leads to port {inside} of {id}"));
            doors.spawn(admit(client.clone(), id.clone(), listener, inside));
        }
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Ok(()),
            _ = doors.join_next() => Err(Failure::new("nobody can be let in any more").exit(Exit::Failed)),
        }
    }
}

async fn admit(client: Client, id: String, listener: TcpListener, port: u16) {
    while let Ok((caller, _)) = listener.accept().await {
        let (client, id) = (client.clone(), id.clone());
        tokio::spawn(async move {
            if let Err(failure) = join(&client, &id, port, caller).await {
                failure.report();
            }
        });
    }
}

async fn join(client: &Client, id: &str, port: u16, mut caller: TcpStream) -> Result<(), Failure> {
    let mut line = open(client, id, port).await?;
    let _ = copy_bidirectional(&mut caller, &mut line).await;
    Ok(())
}

/// A raw line to what listens on a port inside.
pub(super) async fn open(client: &Client, id: &str, port: u16) -> Result<reqwest::Upgraded, Failure> {
    let request = client
        .request(Method::GET, &format!("/sandboxes/{id}/tunnel"))?
        .query(&[("port", port)])
        .header("connection", "Upgrade")
        .header("upgrade", "carrel-tunnel");
    client.send_upgrade(request).await
}

/// Standard input and output are the two ends of a line until it hangs up.
pub(super) async fn on_standard_streams(line: reqwest::Upgraded) {
    let (mut shown, mut out) = tokio::io::split(line);
    let mut typed = stdin();
    let mut buffer = vec![0; 64 * 1024];
    let mut input_over = false;
    loop {
        tokio::select! {
            read = shown.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(length) if !say::bytes(&buffer[..length]) => return,
                Ok(_) => {}
            },
            bytes = typed.recv(), if !input_over => {
                let sent = match bytes {
                    Some(bytes) => out.write_all(&bytes).await,
                    None => {
                        input_over = true;
                        out.shutdown().await
                    }
                };
                if sent.is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pair;

    #[test]
    fn a_port_is_one_number_or_two() {
        assert_eq!(pair("3000"), Ok((3000, 3000)));
        assert_eq!(pair("0:3000"), Ok((0, 3000)));
        assert_eq!(pair("8080:80"), Ok((8080, 80)));
        for wrong in ["", "0", "8080:0", "80:", "a:80", "70000", "1:2:3"] {
            assert!(pair(wrong).is_err(), "{wrong}");
        }
    }
}
