//! The `host` template, of the host that the tests run on.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use carrel_sandbox::template::{Progress, make_host};

use crate::{Heard, House, exists, needs_root};

fn walk(folder: &Path, each: &mut dyn FnMut(&Path, &fs::Metadata)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        each(&path, &meta);
        if meta.is_dir() {
            walk(&path, each);
        }
    }
}

#[tokio::test]
async fn the_host_template_has_programs_and_no_secrets() {
    needs_root();
    let house = House::open();
    let template = make_host(&house.shelves, &Progress::silent()).await.unwrap();
    house.shelves.keep(&template).unwrap();
    let layer = house.shelves.layer(&template.layers[0]);

    assert_eq!(template.config.user.as_deref(), Some("user"));
    assert_eq!(template.config.workdir.as_deref(), Some("/home/user"));
    assert!(template.config.host_folders.contains(&"/usr".into()));
    assert!(template.config.env["PATH"].contains("/usr/bin"));
    let passwd = fs::read_to_string(layer.join("etc/passwd")).unwrap();
    let accounts: Vec<&str> = passwd.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(accounts, ["root", "nobody", "user"]);
    for (name, mode, owner) in [
        ("tmp", 0o1777, 0),
        ("var/tmp", 0o1777, 0),
        ("root", 0o700, 0),
        ("home/user", 0o755, 1000),
        ("etc", 0o755, 0),
        ("proc", 0o555, 0),
    ] {
        let meta = fs::metadata(layer.join(name)).unwrap();
        assert_eq!((meta.mode() & 0o7777, meta.uid(), meta.gid()), (mode, owner, owner), "{name}");
    }
    for name in
        ["shadow", "gshadow", "ssh", "ssl/private", "machine-id", "gitconfig", "npmrc", "pip.conf", "environment"]
    {
        assert!(!exists(&layer.join("etc").join(name)), "{name} was taken");
    }
    assert_eq!(fs::read_dir(layer.join("root")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(layer.join("home")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(layer.join("usr")).unwrap().count(), 0);

    let key = format!("{} KEY-----", "PRIVATE");
    walk(&layer, &mut |path, meta| {
        let inside = path.strip_prefix(&layer).unwrap();
        if meta.is_file() {
            let text = fs::read(path).unwrap();
            assert!(!text.windows(key.len()).any(|window| window == key.as_bytes()), "{inside:?} holds a private key");
            assert_eq!(meta.mode() & 0o6000, 0, "{inside:?}");
            // Whatever was taken is public on the host too.
            let on_host = Path::new("/").join(inside);
            if inside.starts_with("etc") && fs::read(&on_host).is_ok_and(|host| host == text) {
                assert_ne!(fs::metadata(on_host).unwrap().mode() & 0o004, 0, "{inside:?} is not public");
            }
        } else if !meta.is_dir() {
            assert!(meta.is_symlink(), "{inside:?} is neither a file, a folder nor a link");
        }
    });
    assert!(house.shelves.verify(&template.layers[0]).unwrap());
}

#[tokio::test]
async fn a_host_that_has_not_changed_gives_the_same_template() {
    let house = House::open();
    let first = make_host(&house.shelves, &Progress::silent()).await.unwrap();
    house.shelves.keep(&first).unwrap();
    let heard = Heard::default();
    let second = make_host(&house.shelves, &heard.progress()).await.unwrap();
    assert_eq!(first, second);
    assert!(heard.has("not changed"), "{:?}", heard.all());
    assert_eq!((house.layers(), house.drafts()), (1, 0));
}
