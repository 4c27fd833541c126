//! A checkout that can ask nobody: filled from packs, emptied by packs, and git inside notices nothing.

use carrel_git::{
    Mirror,
    carry::{Load, agreed, push_request},
    gateway::ContentRules,
    inside::{AGREE, BOX, BROUGHT, CLONE, PUSH, SAVE, SEND, SENT, TAKE},
};
use carrel_model::{
    Branch, CommitId, RefName, TaskId,
    push::{PushLimits, Pusher, RefCommand},
};

use crate::bench::{Room, Work};

/// A sandbox without a network: a working tree, and a box beside it.
struct Desk {
    tree: Work,
    boxed: Work,
    mirror: Mirror,
    began: CommitId,
}

impl Desk {
    fn open(room: &Room, mirror: &Mirror, began: &CommitId) -> Desk {
        let place = |name: &str| {
            let work = Work { folder: room.path(name), home: room.path("home") };
            std::fs::create_dir_all(&work.folder).unwrap();
            work
        };
        Desk { tree: place("desk"), boxed: place("desk.git"), mirror: mirror.clone(), began: began.clone() }
    }

    fn at(&self) -> &str {
        self.tree.folder.to_str().unwrap()
    }

    fn url(&self) -> &str {
        self.boxed.folder.to_str().unwrap()
    }

    fn sh(&self, script: &str, args: &[&str]) -> String {
        let output = self.tree.command("sh").args(["-c", script, "sh", self.at()]).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    async fn bring(&self, refs: &[(&str, &CommitId)], has: &[CommitId], ends: &[CommitId]) {
        let [pack, end, names] = BROUGHT.map(|name| self.boxed.folder.join(name));
        let load =
            Load { wanted: refs.iter().map(|(_, at)| (*at).clone()).collect(), has: has.to_vec(), ends: ends.to_vec() };
        self.mirror.pack_into(&pack, &load).await.unwrap();
        std::fs::write(end, ends.iter().map(|end| format!("{end}\n")).collect::<String>()).unwrap();
        let line = |(name, at): &(&str, &CommitId)| {
            format!("update {name} {at}\nupdate {} {at}\n", agreed(&name.parse().unwrap()).unwrap())
        };
        std::fs::write(names, refs.iter().map(line).collect::<String>()).unwrap();
        self.sh(TAKE, &[]);
        assert!(!pack.exists());
        self.sh(TAKE, &[]);
    }

    /// Takes what a ref of the box has to the mirror; why not, when it is refused.
    async fn fetch(&self, name: &RefName) -> Option<String> {
        let place = agreed(name).unwrap().to_string();
        let sent = self.sh(SEND, &[name.as_str(), &place, self.began.as_str(), "known"]);
        let mut words = sent.split(' ').map(|word| word.parse().ok());
        let (new, old): (Option<CommitId>, _) = (words.next().flatten(), words.next().flatten());
        let new = new?;
        let mut stream = push_request(&RefCommand { name: name.clone(), old, new: Some(new.clone()) });
        stream.extend(std::fs::read(self.boxed.folder.join(SENT)).unwrap());
        let task = TaskId::try_from(5).unwrap();
        let pusher = Pusher::Task { task, branch: Branch::of_task(task) };
        let (limits, rules) = (PushLimits::default(), ContentRules::usual());
        let received = self.mirror.receive(&mut stream.as_slice(), &pusher, &limits, &rules).await.unwrap();
        let taken = if received.refusal.is_none() { new.as_str() } else { "" };
        self.sh(AGREE, &[name.as_str(), &place, taken]);
        received.refusal
    }
}

async fn works(ends_at_its_base: bool) {
    let room = Room::open().await;
    let work = room.work("work");
    for number in 0..5 {
        work.write("history", number.to_string());
        work.commit(&format!("feat: {number}"));
    }
    let mirror = room.mirror_of(&work).await;
    let main = work.head();
    let desk = Desk::open(&room, &mirror, &main);
    assert_eq!(desk.sh(BOX, &["main"]), "");
    let ends = if ends_at_its_base { vec![main.clone()] } else { vec![] };
    desk.bring(&[("refs/heads/main", &main)], &[], &ends).await;
    assert!(desk.sh(BOX, &["main"]).contains(&format!("{main} refs/heads/main")), "a second time finds it made");
    let clone = [desk.url(), "task-5", main.as_str(), "scout", "scout@x", "5", "whole"];
    desk.sh(CLONE, &clone);
    desk.sh(CLONE, &clone);
    let log = desk.tree.git(&["log", "--oneline"]).lines().count();
    assert_eq!(log, if ends_at_its_base { 1 } else { 6 });
    assert_eq!(desk.tree.git(&["status", "--porcelain", "-b"]), "## task-5");
    desk.tree.git(&["fsck"]);

    // Saved, pushed by the agent, and pushed by the house.
    desk.tree.write("new.txt", "new\n");
    let wip: RefName = "refs/carrel/wip/5".parse().unwrap();
    let saved = desk.sh(SAVE, &[wip.as_str(), desk.url(), main.as_str(), "51200"]);
    assert_eq!(desk.fetch(&wip).await, None);
    assert_eq!(mirror.find(&wip).await.unwrap().unwrap().as_str(), saved);
    assert_eq!(desk.fetch(&wip).await, None, "nothing is new");
    let branch: RefName = "refs/heads/task-5".parse().unwrap();
    let first = desk.tree.commit("feat: new");
    desk.tree.git(&["push", "-q", "origin", "task-5"]);
    assert_eq!(desk.fetch(&branch).await, None);
    assert_eq!(mirror.find(&branch).await.unwrap(), Some(first.clone()));
    assert!(desk.tree.git(&["log", "-1", "--format=%B"]).contains("Carrel-Task: 5"));
    desk.tree.git(&["commit", "-q", "--amend", "-m", "feat: other words"]);
    let push = ["task-5", desk.url(), main.as_str()];
    let second = desk.sh(PUSH, &push);
    assert_eq!(desk.fetch(&branch).await, None);
    assert_eq!(mirror.find(&branch).await.unwrap().unwrap().as_str(), second);

    // What the house does not take is as if it had not been pushed, and can be mended.
    desk.tree.write("env", format!("KEY=AKIA{}\n", "Z7QXM3RTPLK2WV5N"));
    desk.tree.commit("feat: a key");
    desk.sh(PUSH, &push);
    let why = desk.fetch(&branch).await.expect("a refusal");
    assert!(why.contains("an access key of AWS"), "{why}");
    assert_eq!(mirror.find(&branch).await.unwrap().unwrap().as_str(), second);
    desk.tree.write("env", "KEY=\n");
    desk.tree.git(&["commit", "-q", "-a", "--amend", "-m", "feat: no key"]);
    let third = desk.sh(PUSH, &push);
    assert_eq!(desk.fetch(&branch).await, None);
    assert_eq!(mirror.find(&branch).await.unwrap().unwrap().as_str(), third);

    // The base moves, and the agent rebases onto what was brought.
    work.write("elsewhere", "x");
    let moved = work.commit("feat: elsewhere");
    mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    desk.bring(&[("refs/heads/main", &moved)], std::slice::from_ref(&main), &[]).await;
    desk.tree.git(&["fetch", "-q", "origin"]);
    desk.tree.git(&["rebase", "-q", "origin/main"]);
    let rebased = desk.sh(PUSH, &push);
    assert_eq!(desk.fetch(&branch).await, None);
    let head: CommitId = rebased.parse().unwrap();
    assert_eq!(mirror.find(&branch).await.unwrap(), Some(head.clone()));
    assert!(mirror.is_ancestor(&moved, &head).await.unwrap());
    mirror.check().await.unwrap();

    // Somebody else moved the branch: nobody is run over.
    mirror.hold(&branch, &moved).await.unwrap();
    desk.tree.write("more", "more");
    desk.tree.commit("feat: more");
    desk.sh(PUSH, &push);
    assert!(desk.fetch(&branch).await.expect("a refusal").contains("moved"));
    assert_eq!(mirror.find(&branch).await.unwrap(), Some(moved));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_can_ask_nobody_is_filled_and_emptied_by_packs() {
    works(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_where_history_is_cut_off_because_it_is_large() {
    works(true).await;
}
