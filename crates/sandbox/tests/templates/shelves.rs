//! The shelves themselves.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{PermissionsExt, symlink},
    process::{Command, Stdio},
};

use carrel_sandbox::template::{Config, LayerId, Shelves, Template};
use jiff::Timestamp;
use rustix::fs::{FileType, Mode, XattrFlags};

use crate::{House, exists, needs_root};

fn template(name: &str, layers: &[LayerId]) -> Template {
    Template {
        name: name.parse().unwrap(),
        layers: layers.to_vec(),
        config: Config::default(),
        origin: "a test".to_owned(),
        bytes: 1,
        made_at: Timestamp::UNIX_EPOCH,
        memory: false,
    }
}

fn layer(house: &House, content: &str) -> LayerId {
    let draft = house.shelves.draft().unwrap();
    fs::write(draft.folder().join("file"), content).unwrap();
    house.shelves.adopt(draft.folder().to_owned()).unwrap().0
}

#[test]
fn the_same_content_twice_is_one_layer() {
    let house = House::open();
    let one = layer(&house, "same");
    let again = layer(&house, "same");
    let other = layer(&house, "other");
    assert_eq!(one, again);
    assert_ne!(one, other);
    assert_eq!((house.layers(), house.drafts()), (2, 0));
    assert_eq!(house.shelves.measure(&one).unwrap(), 4);
}

#[test]
fn everything_that_can_be_seen_inside_is_part_of_the_name() {
    needs_root();
    let house = House::open();
    type Change = fn(&std::path::Path);
    let changes: [(&str, Change); 12] = [
        ("as it is", |_| {}),
        ("a name", |root| fs::rename(root.join("file"), root.join("elif")).unwrap()),
        ("content", |root| fs::write(root.join("file"), "b").unwrap()),
        ("a permission", |root| fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o600)).unwrap()),
        ("set-user-id", |root| fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o4755)).unwrap()),
        ("an owner", |root| std::os::unix::fs::chown(root.join("file"), Some(7), None).unwrap()),
        ("a target", |root| {
            fs::remove_file(root.join("link")).unwrap();
            symlink("other", root.join("link")).unwrap();
        }),
        ("an attribute", |root| {
            rustix::fs::setxattr(root.join("file"), "user.note", b"x", XattrFlags::empty()).unwrap();
        }),
        ("an opaque folder", |root| {
            rustix::fs::setxattr(root.join("folder"), "trusted.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
        }),
        ("a removed name", |root| {
            rustix::fs::mknodat(rustix::fs::CWD, root.join("gone"), FileType::CharacterDevice, Mode::empty(), 0)
                .unwrap();
        }),
        ("an empty folder", |root| fs::create_dir(root.join("folder/inner")).unwrap()),
        ("the root's permission", |root| fs::set_permissions(root, fs::Permissions::from_mode(0o700)).unwrap()),
    ];
    let mut names = HashSet::new();
    for (what, change) in changes {
        let draft = house.shelves.draft().unwrap();
        fs::write(draft.folder().join("file"), "a").unwrap();
        fs::create_dir(draft.folder().join("folder")).unwrap();
        symlink("target", draft.folder().join("link")).unwrap();
        change(draft.folder());
        let (id, _) = house.shelves.adopt(draft.folder().to_owned()).unwrap();
        assert!(names.insert(id.clone()), "{what} does not change the name");
        assert!(house.shelves.verify(&id).unwrap(), "{what}");
    }
    // Times, shared names and overlayfs's own notes do.
    let draft = house.shelves.draft().unwrap();
    fs::write(draft.folder().join("file"), "a").unwrap();
    fs::create_dir(draft.folder().join("folder")).unwrap();
    symlink("target", draft.folder().join("link")).unwrap();
    let file = fs::File::options().write(true).open(draft.folder().join("file")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    rustix::fs::setxattr(draft.folder().join("folder"), "trusted.overlay.origin", b"x", XattrFlags::empty()).unwrap();
    let (id, _) = house.shelves.adopt(draft.folder().to_owned()).unwrap();
    assert!(!names.insert(id));
}

#[test]
fn a_layer_that_was_touched_is_found_out() {
    let house = House::open();
    let id = layer(&house, "true");
    assert!(house.shelves.verify(&id).unwrap());
    fs::write(house.at(&id, "file"), "fals").unwrap();
    assert!(!house.shelves.verify(&id).unwrap());
    let missing: LayerId = format!("sha256-{}", "0".repeat(64)).parse().unwrap();
    assert!(!house.shelves.verify(&missing).unwrap());
}

#[test]
fn a_template_is_kept_found_replaced_and_forgotten() {
    let house = House::open();
    let id = layer(&house, "x");
    for name in ["host", "team/tools:v1.2", "team-tools-v1.2"] {
        house.shelves.keep(&template(name, std::slice::from_ref(&id))).unwrap();
    }
    // Another process, or this one after a restart.
    let shelves = Shelves::open(house.path("shelves")).unwrap();
    let names: Vec<String> = shelves.templates().unwrap().iter().map(|template| template.name.to_string()).collect();
    assert_eq!(names, ["host", "team-tools-v1.2", "team/tools:v1.2"]);
    let name = "team/tools:v1.2".parse().unwrap();
    let mut changed = shelves.find(&name).unwrap().unwrap();
    changed.config.user = Some("user".to_owned());
    shelves.keep(&changed).unwrap();
    assert_eq!(shelves.find(&name).unwrap(), Some(changed));
    shelves.forget(&name).unwrap();
    shelves.forget(&name).unwrap();
    assert_eq!(shelves.find(&name).unwrap(), None);
    assert_eq!(shelves.templates().unwrap().len(), 2);

    let lost: LayerId = format!("sha256-{}", "0".repeat(64)).parse().unwrap();
    assert!(shelves.keep(&template("broken", &[lost])).is_err());
    assert_eq!(house.drafts(), 0);
}

#[test]
fn an_unreadable_template_is_told_and_costs_no_layer() {
    let house = House::open();
    let id = layer(&house, "x");
    house.shelves.keep(&template("good", std::slice::from_ref(&id))).unwrap();
    fs::write(house.path("shelves/templates/good.json"), "{").unwrap();
    let shelves = Shelves::open(house.path("shelves")).unwrap();
    let why = shelves.templates().unwrap_err().to_string();
    assert!(why.contains("good.json"), "{why}");
    assert!(shelves.collect(&HashSet::new()).is_err());
    assert!(shelves.has(&id));
}

#[test]
fn only_what_nobody_needs_is_collected() {
    let house = House::open();
    let (kept, used, dropped) = (layer(&house, "kept"), layer(&house, "used"), layer(&house, "dropped"));
    // Adopted and waiting for its template: nothing goes yet.
    assert_eq!(house.shelves.collect(&HashSet::new()).unwrap(), []);
    house.shelves.keep(&template("all", &[kept.clone(), used.clone(), dropped.clone()])).unwrap();
    house.shelves.keep(&template("one", std::slice::from_ref(&kept))).unwrap();
    assert_eq!(house.shelves.collect(&HashSet::new()).unwrap(), []);
    house.shelves.forget(&"all".parse().unwrap()).unwrap();
    let in_use = HashSet::from([used.clone()]);
    assert_eq!(house.shelves.collect(&in_use).unwrap(), std::slice::from_ref(&dropped));
    assert!(house.shelves.has(&kept) && house.shelves.has(&used) && !house.shelves.has(&dropped));
    assert_eq!(house.shelves.collect(&HashSet::new()).unwrap(), [used]);
    assert_eq!(house.drafts(), 0);

    // Somebody begins to build on a layer whose template goes meanwhile.
    assert!(house.shelves.spare(std::slice::from_ref(&kept)));
    assert!(!house.shelves.spare(&[dropped]));
    house.shelves.forget(&"one".parse().unwrap()).unwrap();
    assert_eq!(house.shelves.collect(&HashSet::new()).unwrap(), []);
    // The next process knows nothing of it.
    let shelves = Shelves::open(house.path("shelves")).unwrap();
    assert_eq!(shelves.collect(&HashSet::new()).unwrap(), [kept]);
}

#[test]
fn a_former_upper_becomes_a_layer_without_being_read() {
    let house = House::open();
    let upper = house.path("upper");
    fs::create_dir(&upper).unwrap();
    for number in 0..10_000 {
        fs::write(upper.join(format!("file-{number}")), "content").unwrap();
    }
    let id = LayerId::snapshot([1; 16]);
    // Even unreadable to itself: nothing in it is opened.
    assert_eq!(house.shelves.adopt_unread(upper.clone(), id.clone()).unwrap(), id);
    assert!(!upper.exists() && house.at(&id, "file-9999").exists());
    assert!(house.shelves.verify(&id).unwrap());
    // A second time finds it made; another folder does not replace it.
    house.shelves.adopt_unread(upper.clone(), id.clone()).unwrap();
    fs::create_dir(&upper).unwrap();
    assert!(house.shelves.adopt_unread(upper.clone(), id.clone()).is_err());
    assert!(upper.exists());
    let digest = layer(&house, "x");
    assert!(house.shelves.adopt_unread(upper, digest).is_err());
    house.shelves.settle().unwrap();
}

#[test]
fn nobody_else_on_the_host_can_reach_a_layer() {
    let house = House::open();
    fs::set_permissions(house.path("shelves"), fs::Permissions::from_mode(0o777)).unwrap();
    Shelves::open(house.path("shelves")).unwrap();
    for name in ["shelves", "shelves/layers", "shelves/drafts"] {
        assert_eq!(fs::metadata(house.path(name)).unwrap().permissions().mode() & 0o777, 0o700, "{name}");
    }
}

const HOLDER: &str = "CARREL_TEST_HOLDS_A_DRAFT";

#[test]
fn a_killed_builders_draft_is_swept_and_a_living_ones_is_not() {
    if let Some(folder) = std::env::var_os(HOLDER) {
        // The builder: it makes a draft, says so, and waits to be killed.
        let draft = Shelves::open(folder.into()).unwrap().draft().unwrap();
        fs::write(draft.folder().join("half"), "a file").unwrap();
        fs::write(draft.scratch("ready"), "").unwrap();
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).unwrap();
        return;
    }
    let house = House::open();
    let mine = house.shelves.draft().unwrap();
    let mut builder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shelves::a_killed_builders_draft_is_swept_and_a_living_ones_is_not", "--nocapture"])
        .env(HOLDER, house.path("shelves"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let is_ready = || {
        fs::read_dir(house.path("shelves/drafts")).unwrap().any(|entry| exists(&entry.unwrap().path().join("ready")))
    };
    while !is_ready() {
        assert!(builder.try_wait().unwrap().is_none(), "the builder ended by itself");
        std::thread::yield_now();
    }
    Shelves::open(house.path("shelves")).unwrap();
    assert_eq!(house.drafts(), 2, "a living draft was swept");

    builder.kill().unwrap();
    builder.wait().unwrap();
    drop(BufReader::new(builder.stdout.take().unwrap()));
    assert_eq!(house.drafts(), 2);
    Shelves::open(house.path("shelves")).unwrap();
    assert_eq!(house.drafts(), 1);
    assert!(mine.folder().is_dir());
}
