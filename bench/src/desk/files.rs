//! `files`: a large file into a sandbox and out of it, through the API, against `cp` between the same two disks.
//!
//! Both begin with the file in the page cache and end when the last byte was taken; nobody waits for the disk itself.
//! Between the rounds the disks are left to settle.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::{Desk, time};
use crate::{
    Outcome,
    http::{Request, content_length},
    report::{self, Measure, Unit},
};

/// Measures and reports.
pub(crate) async fn measure(quick: bool, megabytes: u64) -> Outcome<()> {
    let rounds = if quick { 1 } else { 3 };
    let size = megabytes * 1_000_000;
    let folder = tempfile::Builder::new().prefix("carrel-bench-files.").tempdir()?;
    let (source, back) = (folder.path().join("source"), folder.path().join("back"));
    write_noise(&source, size)?;
    let mut desk = Desk::open(0).await?;
    let body = serde_json::json!({ "limits": { "disk_mb": megabytes * 3 + 1024, "memory_mb": 2048 } }).to_string();
    let id = desk.create(&body).await?;
    let path = format!("/api/v1/sandboxes/{id}/files?path=bench-file");
    // A stranger to the server, on the disk to which sandboxes write.
    let copy = desk.disk().join("bench-copy");

    let mut speeds = [
        Measure::new("upload", Unit::BytesPerSecond).aim("at least 0.25×"),
        Measure::new("download", Unit::BytesPerSecond).aim("at least 0.25×"),
    ];
    let per_second = |took: Duration| size as f64 / took.as_secs_f64();
    for _ in 0..rounds {
        let cp = time(copying(&source, &copy).as_mut())?;
        settle()?;
        let ours = upload(&desk, &path, &source, size)?;
        settle()?;
        speeds[0].note(per_second(ours), per_second(cp));
        let cp = time(copying(&copy, &back).as_mut())?;
        fs::remove_file(&back)?;
        settle()?;
        let ours = download(&desk, &path, &back, size)?;
        speeds[1].note(per_second(ours), per_second(cp));
        same(&source, &back)?;
        for place in [&back, &copy] {
            fs::remove_file(place)?;
        }
        desk.ask("DELETE", path.trim_start_matches("/api/v1"), None).await?;
        settle()?;
    }
    desk.destroy(&id).await?;
    report::table(&format!("files: {megabytes} MB through …/files, against cp to and from the same disk"), &speeds)
}

fn copying(from: &Path, to: &Path) -> Box<Command> {
    let mut command = Command::new("cp");
    command.args(["--reflink=never", "--"]).arg(from).arg(to);
    Box::new(command)
}

fn upload(desk: &Desk, path: &str, source: &Path, size: u64) -> Outcome<Duration> {
    let (mut file, mut line) = (File::open(source)?, TcpStream::connect(desk.server.address)?);
    let began = Instant::now();
    line.write_all(&Request::head("PUT", path, desk.server.key(), size))?;
    // The standard library makes sendfile of this.
    io::copy(&mut file, &mut line)?;
    answer_head(&mut BufReader::new(&line))?;
    Ok(began.elapsed())
}

fn download(desk: &Desk, path: &str, to: &Path, size: u64) -> Outcome<Duration> {
    let (mut file, mut line) = (File::create(to)?, TcpStream::connect(desk.server.address)?);
    let began = Instant::now();
    line.write_all(&Request::head("GET", path, desk.server.key(), 0))?;
    let mut line = BufReader::with_capacity(256 * 1024, line);
    let head = answer_head(&mut line)?;
    if content_length(&head) != usize::try_from(size).ok() {
        return Err("a download of another size than the upload".into());
    }
    io::copy(&mut line.take(size), &mut file)?;
    Ok(began.elapsed())
}

/// The head of an answer, which must be a success.
fn answer_head(line: &mut impl BufRead) -> Outcome<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if line.read_until(b'\n', &mut head)? == 0 {
            break;
        }
    }
    match head.get(9) {
        Some(b'2') => Ok(head),
        _ => Err(String::from_utf8_lossy(&head).into()),
    }
}

/// Bytes that no filesystem makes less of.
fn write_noise(path: &Path, size: u64) -> Outcome<()> {
    let mut noise = vec![0; 4_000_000];
    File::open("/dev/urandom")?.read_exact(&mut noise)?;
    let mut file = File::create(path)?;
    let mut left = size;
    while left > 0 {
        let part = left.min(noise.len() as u64);
        file.write_all(&noise[..part as usize])?;
        left -= part;
    }
    settle()
}

fn settle() -> Outcome<()> {
    rustix::fs::sync();
    Ok(())
}

/// What came back is what went in.
fn same(one: &Path, other: &Path) -> Outcome<()> {
    super::finish(Command::new("cmp").arg("--").arg(one).arg(other))
}
