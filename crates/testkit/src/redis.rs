//! A Redis of a test's own, which keeps nothing on disk.

use std::{path::PathBuf, process::Child};

/// One that is gone with its last word when it is dropped.
pub struct Redis {
    folder: tempfile::TempDir,
    server: Child,
}

impl Redis {
    /// Starts one, and waits until it answers.
    pub async fn start() -> Redis {
        let folder = tempfile::tempdir().unwrap();
        let server = run(&folder);
        let redis = Redis { folder, server };
        redis.answers().await;
        redis
    }

    /// Where it is, as `carrel serve --redis` takes it.
    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Kills it. After a while it comes back without anything that it knew.
    pub async fn restart(&mut self, after: std::time::Duration) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        std::fs::remove_file(self.socket()).unwrap();
        tokio::time::sleep(after).await;
        self.server = run(&self.folder);
        self.answers().await;
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    async fn answers(&self) {
        while tokio::net::UnixStream::connect(self.socket()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}

fn run(folder: &tempfile::TempDir) -> Child {
    let mut command = std::process::Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]);
    command.arg(folder.path().join("redis.sock")).arg("--dir").arg(folder.path());
    command.stdout(std::process::Stdio::null()).spawn().expect("`scripts/setup test` installs redis-server")
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
