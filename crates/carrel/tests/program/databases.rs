//! A database that is not as it should be: a sentence, an exit code, and nothing touched.

use std::{os::unix::fs::PermissionsExt, path::Path, process::Output};

use carrel_testkit::Server;

use crate::binary;

async fn serve(data: &Path, args: &[&str]) -> Output {
    let mut command = tokio::process::Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(args).env_remove("DATABASE_URL");
    command.kill_on_drop(true).output().await.unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

async fn used_data() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let server = Server::with(binary(), data.path()).start().await;
    assert!(server.terminate().await.success());
    data
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::with(binary(), data.path()).start().await;
    let (code, text) = said(&serve(data.path(), &[]).await);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains(&format!("process {}", server.pid())) && text.contains("hint:"), "{text}");
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_database_in_a_missing_folder_is_missing() {
    let data = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/no/such/folder/x.db", data.path().display());
    let (code, text) = said(&serve(data.path(), &["--database", &url]).await);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("is missing"), "{text}");
}

#[tokio::test]
async fn a_read_only_database_is_left_as_it_is() {
    let data = used_data().await;
    let file = data.path().join("carrel.db");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
    let before = std::fs::read(&file).unwrap();
    let (code, text) = said(&serve(data.path(), &[]).await);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("read-only"), "{text}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_as_it_is() {
    let data = used_data().await;
    let file = data.path().join("carrel.db");
    let sql = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'future', 1, x'00', 0)";
    let url = format!("sqlite:{}", file.display());
    let mut connection = <sqlx::SqliteConnection as sqlx::Connection>::connect(&url).await.unwrap();
    sqlx::query(sql).execute(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    let before = std::fs::read(&file).unwrap();
    let (code, text) = said(&serve(data.path(), &[]).await);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("newer Carrel") && text.contains("9999"), "{text}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_as_it_is() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("carrel.db");
    std::fs::write(
        &file,
        "Dear diary, this is certainly not a database, but it is long enough to look like one.".repeat(20),
    )
    .unwrap();
    let before = std::fs::read(&file).unwrap();
    let (code, text) = said(&serve(data.path(), &[]).await);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("not one of Carrel's"), "{text}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_database_that_nobody_answers_for_is_unreachable_and_its_password_stays_secret() {
    let data = tempfile::tempdir().unwrap();
    let (code, text) = said(&serve(data.path(), &["--database", "postgres://me:hunter2@127.0.0.1:1/none"]).await);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot be reached") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_to_be() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut command = tokio::process::Command::new(binary());
    let address = taken.local_addr().unwrap().to_string();
    let output = command.args(["serve", "--listen", &address, "--data"]).arg(data.path()).output().await.unwrap();
    let (code, text) = said(&output);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("--listen"), "{text}");
}

/// A small disk of its own, gone with this value.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> SmallDisk {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16m,mode=700", "none"]).arg(folder.path());
        assert!(mount.status().unwrap().success());
        SmallDisk(folder)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_as_one_and_room_on_it_is_enough_to_go_on() {
    assert!(rustix::process::geteuid().is_root(), "this test mounts a disk and needs root");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let disk = SmallDisk::mount();
    let data = disk.0.path();
    let server = Server::with(binary(), data).env("CARREL_SANDBOXES_PROVIDER", "fake").env("CARREL_LOG_LEVEL", "error");
    let server = server.start().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ready = async || {
        let answer = http.get(format!("{}/readyz", server.url)).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<serde_json::Value>().await.unwrap())
    };
    assert_eq!(ready().await.0, 200);
    let mut ballast = std::fs::File::create(data.join("ballast")).unwrap();
    while std::io::Write::write_all(&mut ballast, &[0; 4096]).is_ok() {}
    // What the database had set aside is used up first.
    let refused = loop {
        let key = serde_json::json!({"name": "x", "role": "member"});
        let ask = http.post(format!("{}/api/v1/keys", server.url)).bearer_auth(&server.key).json(&key);
        let answer = ask.send().await.unwrap();
        if !answer.status().is_success() {
            break answer;
        }
    };
    assert_eq!(refused.status(), 503);
    let words = refused.text().await.unwrap();
    assert!(words.contains("disk of the database is full"), "{words}");
    let told = loop {
        let (status, told) = ready().await;
        if status == 503 {
            break told;
        }
    };
    assert!(told["database"].as_str().unwrap().contains("full"), "{told}");
    ballast.set_len(0).unwrap();
    while ready().await.0 != 200 {}
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_database_that_is_moved_away_under_a_server_is_noticed_and_found_again() {
    let data = tempfile::tempdir().unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::with(binary(), data.path()).start().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ready = async || {
        let answer = http.get(format!("{}/readyz", server.url)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(ready().await.0, 200);
    let (file, elsewhere) = (data.path().join("carrel.db"), data.path().join("elsewhere.db"));
    std::fs::rename(&file, &elsewhere).unwrap();
    // An answer is good for a moment.
    let told = loop {
        let (status, text) = ready().await;
        if status == 503 {
            break text;
        }
    };
    assert!(told.contains("removed or replaced"), "{told}");
    std::fs::rename(&elsewhere, &file).unwrap();
    while ready().await.0 != 200 {}
    assert!(server.terminate().await.success());
}
