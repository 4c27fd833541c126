//! `carrel-understudy SCRIPTS [WORKSPACE [ADDRESS]]`: the understudy by itself, for trying an agent out by hand.
#![allow(clippy::print_stdout, reason = "it says where it listens")]

use carrel_understudy::{Scripts, Understudy};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let scripts = arguments.next().ok_or("usage: carrel-understudy SCRIPTS [WORKSPACE [ADDRESS]]")?;
    let workspace = arguments.next().unwrap_or_else(|| "/workspace".to_owned());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let scripts = Scripts::from_toml(&std::fs::read_to_string(scripts)?)?;
    let understudy = Understudy::listen(&address, scripts, &workspace).await?;
    println!("{}", understudy.url());
    tokio::signal::ctrl_c().await?;
    for seen in understudy.seen() {
        println!("{}", serde_json::json!({"path": seen.path, "key": seen.key, "body": seen.body}));
    }
    Ok(())
}
