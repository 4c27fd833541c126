//! `carrel sandbox shell` at a real terminal: what is typed, shown, resized and interrupted, and how it ends.

use std::{
    fs::File,
    io::{Read, Write},
    process::{Child, Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

use crate::{binary, engine::Desk};

/// A person at a terminal.
struct Person {
    /// The side of the terminal that a person sits at.
    ours: File,
    /// The side of the program, kept to look at how it leaves it.
    theirs: File,
    shown: String,
    child: Child,
}

impl Person {
    /// Sits down at a terminal of this size and runs the command line there.
    fn sit_down(desk: &Desk, args: &[&str], rows: u16, cols: u16) -> Person {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = File::options().read(true).write(true).open(name).unwrap();
        resize(&ours, rows, cols);
        let end = || Stdio::from(theirs.try_clone().unwrap());
        // Its own session, with this as its terminal: only so does it hear that the window changed.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(binary())
            .args(args)
            .env("CARREL_URL", &desk.server.as_ref().unwrap().url)
            .env("CARREL_DATA", desk.data.path())
            .env_remove("CARREL_KEY")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        Person { ours: ours.into(), theirs, shown: String::new(), child }
    }

    fn types(&mut self, text: &str) {
        self.ours.write_all(text.as_bytes()).unwrap();
    }

    /// Looks until something is shown, and forgets what was before.
    fn sees(&mut self, text: &str) {
        while !self.shown.contains(text) {
            let mut bytes = [0; 4096];
            let length = self.ours.read(&mut bytes).unwrap_or_else(|error| panic!("{error}: {}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
        let after = self.shown.find(text).unwrap() + text.len();
        self.shown.drain(..after);
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: impl std::os::fd::AsFd, rows: u16, cols: u16) {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_is_a_real_terminal() {
    let desk = Desk::open().await;
    let id = desk.create().await;
    let work = || {
        let mut person = Person::sit_down(&desk, &["sandbox", "shell", &id, "--", "sh"], 33, 101);
        let before = tcgetattr(&person.theirs).unwrap().local_modes;
        person.types("echo is-$((40 + 2))-$TERM; stty size\n");
        person.sees("is-42-xterm-256color\r\n33 101\r\n");
        // Colours arrive as they were sent.
        person.types("printf '\\033[31mred\\033[0m\\n'\n");
        person.sees("\u{1b}[31mred\u{1b}[0m\r\n");
        // What is typed is passed on letter by letter: nothing is kept here.
        assert!(!tcgetattr(&person.theirs).unwrap().local_modes.contains(LocalModes::ICANON));
        resize(&person.ours, 44, 120);
        // The terminal inside follows. Whoever is in front of it is told; here it is asked, because a shell gives the front
        // away to each program that it waits for.
        person.types("until test \"$(stty size)\" = '44 120'; do sleep 0.05; done; stty size; exit 7\n");
        person.sees("\r\n44 120\r\n");
        while person.child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(person.child.wait().unwrap().code(), Some(7), "its exit code is passed on");
        assert_eq!(tcgetattr(&person.theirs).unwrap().local_modes, before, "the terminal is as it was");

        let mut person = Person::sit_down(&desk, &["sandbox", "shell", &id, "--", "sh"], 24, 80);
        // What is shown twice was typed and then said by `cat`: from then on it is the one in front.
        person.sees("$ ");
        person.types("cat\n");
        person.sees("cat\r\n");
        person.types("going\n");
        person.sees("going\r\ngoing\r\n");
        person.types("\u{3}");
        // Ctrl-C ends what runs inside, not the shell and not the command line. Only when the shell asks again: what is
        // typed before that may be read by `cat` on its way out.
        person.sees("^C\r\n$ ");
        person.types("echo code-$?-still\n");
        person.sees("code-130-still\r\n");
        person.types("\u{4}");
        assert_eq!(person.child.wait().unwrap().code(), Some(0), "the end of what is typed ends it");
    };
    tokio::task::block_in_place(work);
    desk.close().await;
}
