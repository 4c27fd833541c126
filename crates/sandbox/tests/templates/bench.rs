//! A workbench for tests: real overlay mounts in a mount namespace of its own, and a chroot. It holds nobody in, which the
//! engine does; the commands here are the tests' own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use carrel_sandbox::template::{
    Config, LayerId, Progress, Shelves, TemplateError,
    recipe::{Bench, Errand, Workbench},
};

#[derive(Clone)]
pub(crate) struct Chroots {
    pub(crate) shelves: Shelves,
    pub(crate) folder: PathBuf,
    pub(crate) opened: Arc<AtomicUsize>,
}

struct Chroot {
    lower: String,
    folder: PathBuf,
    shown: Vec<PathBuf>,
}

#[async_trait]
impl Workbench for Chroots {
    async fn open(&self, layers: &[LayerId], config: &Config) -> Result<Box<dyn Bench>, TemplateError> {
        let number = self.opened.fetch_add(1, Ordering::SeqCst);
        let folder = self.folder.join(format!("bench-{number}"));
        for name in ["upper", "work", "merged"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let lower: Vec<String> =
            layers.iter().rev().map(|layer| self.shelves.layer(layer).display().to_string()).collect();
        Ok(Box::new(Chroot { lower: lower.join(":"), folder, shown: config.host_folders.clone() }))
    }
}

impl Chroot {
    fn inside(&self, script: &str) -> Command {
        let folder = self.folder.display();
        let mut mounts = format!(
            "mount -t overlay overlay -o lowerdir={},upperdir={folder}/upper,workdir={folder}/work {folder}/merged\n",
            self.lower
        );
        for shown in &self.shown {
            mounts.push_str(&format!("mount --bind {} {folder}/merged{}\n", shown.display(), shown.display()));
        }
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", &format!("{mounts}{script}")]);
        command.stdin(Stdio::null());
        command
    }
}

#[async_trait]
impl Bench for Chroot {
    async fn run(&mut self, errand: &Errand<'_>, progress: &Progress) -> Result<i32, TemplateError> {
        let script = format!(
            "exec chroot --userspec={} {}/merged sh -c 'cd \"$1\" && exec sh -c \"$2\"' sh \"$WORKDIR\" \"$COMMAND\"",
            errand.user.unwrap_or("root"),
            self.folder.display()
        );
        let mut command = self.inside(&script);
        command
            .env_clear()
            .envs(errand.env)
            .env("WORKDIR", errand.workdir.unwrap_or("/"))
            .env("COMMAND", errand.command);
        let output = command.output().unwrap();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            progress.say(line);
        }
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            progress.say(line);
        }
        Ok(output.status.code().unwrap_or(-1))
    }

    async fn copy(&mut self, tarball: &Path, folder: &str, owner: Option<&str>) -> Result<(), TemplateError> {
        let script = format!(
            "exec chroot {}/merged sh -ec 'mkdir -p \"$FOLDER\" && mkdir /tmp/copy && tar -C /tmp/copy --no-same-owner -x && \
             chown -hR \"$OWNER\" /tmp/copy && cp -a /tmp/copy/. \"$FOLDER\" && rm -rf /tmp/copy'",
            self.folder.display()
        );
        let mut command = self.inside(&script);
        command.env("FOLDER", folder).env("OWNER", owner.unwrap_or("root")).stdin(fs::File::open(tarball).unwrap());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<PathBuf, TemplateError> {
        Ok(self.folder.join("upper"))
    }
}
