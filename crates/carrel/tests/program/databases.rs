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
