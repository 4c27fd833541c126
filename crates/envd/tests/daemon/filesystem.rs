use carrel_envd::{EntryKind, EnvdError};

use crate::guest::{Guest, content};

fn names(entries: &[carrel_envd::Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[tokio::test]
async fn a_file_is_described() {
    let guest = Guest::new();
    let path = guest.path("file");
    guest.envd.upload(&path, None, content("twelve bytes")).await.unwrap();
    let entry = guest.envd.stat(&path, None).await.unwrap();
    assert_eq!((entry.name.as_str(), entry.path.as_str(), entry.kind), ("file", path.as_str(), EntryKind::File));
    assert_eq!((entry.size, entry.mode), (12, 0o644));
    assert!(entry.modified_s > 1_700_000_000 && !entry.owner.is_empty() && !entry.group.is_empty());
    assert!(matches!(guest.envd.stat(&guest.path("none"), None).await, Err(EnvdError::NotFound(_))));
}

#[tokio::test]
async fn a_link_shows_what_it_leads_to() {
    let guest = Guest::new();
    std::fs::create_dir(guest.path("folder")).unwrap();
    for (link, target) in [("good", "folder"), ("bad", "nowhere"), ("loop", "loop")] {
        std::os::unix::fs::symlink(target, guest.path(link)).unwrap();
    }
    let good = guest.envd.stat(&guest.path("good"), None).await.unwrap();
    assert_eq!((good.kind, good.symlink_target), (EntryKind::Directory, Some(guest.path("folder"))));
    for link in ["bad", "loop"] {
        let entry = guest.envd.stat(&guest.path(link), None).await.unwrap();
        assert_eq!((entry.kind, entry.symlink_target), (EntryKind::Other, Some(guest.path(link))));
    }
    assert!(matches!(guest.envd.list(&guest.path("loop"), 1, None).await, Err(EnvdError::Invalid(_))));
}

#[tokio::test]
async fn a_folder_is_listed_as_deep_as_asked() {
    let guest = Guest::new();
    for folder in ["top/a/b/c", "top/z"] {
        guest.envd.make_dir(&guest.path(folder), None).await.unwrap();
    }
    std::os::unix::fs::symlink(guest.path("top"), guest.path("link")).unwrap();
    std::fs::write(guest.path("top/line\nbreak"), "").unwrap();
    assert_eq!(names(&guest.envd.list(&guest.path("top"), 0, None).await.unwrap()), ["a", "line\nbreak", "z"]);
    assert_eq!(names(&guest.envd.list(&guest.path("top"), 2, None).await.unwrap()), ["a", "b", "line\nbreak", "z"]);
    assert_eq!(
        names(&guest.envd.list(&guest.path("top"), 9, None).await.unwrap()),
        ["a", "b", "c", "line\nbreak", "z"]
    );
    let through = guest.envd.list(&guest.path("link"), 1, None).await.unwrap();
    assert_eq!(through[0].path, guest.path("link/a"));
    assert!(matches!(guest.envd.list("/etc/passwd", 1, None).await, Err(EnvdError::Invalid(_))));
    assert!(matches!(guest.envd.list("/no/such", 1, None).await, Err(EnvdError::NotFound(_))));
}

#[tokio::test]
async fn a_folder_is_made_once_with_its_parents() {
    let guest = Guest::new();
    let path = guest.path("a/b/c");
    let entry = guest.envd.make_dir(&path, None).await.unwrap();
    assert_eq!((entry.kind, entry.mode), (EntryKind::Directory, 0o755));
    assert!(matches!(guest.envd.make_dir(&path, None).await, Err(EnvdError::AlreadyThere(_))));
    std::fs::write(guest.path("file"), "").unwrap();
    assert!(matches!(guest.envd.make_dir(&guest.path("file"), None).await, Err(EnvdError::Invalid(_))));
    assert!(matches!(guest.envd.make_dir(&guest.path("file/below"), None).await, Err(EnvdError::Invalid(_))));
    assert!(matches!(guest.envd.make_dir("/a\0b", None).await, Err(EnvdError::Invalid(_))));
}

#[tokio::test]
async fn things_are_moved_into_folders_that_are_made_for_them() {
    let guest = Guest::new();
    std::fs::write(guest.path("old"), "content").unwrap();
    let entry = guest.envd.rename(&guest.path("old"), &guest.path("new/place"), None).await.unwrap();
    assert_eq!(entry.path, guest.path("new/place"));
    assert_eq!(std::fs::read_to_string(guest.path("new/place")).unwrap(), "content");
    let missing = guest.envd.rename(&guest.path("old"), &guest.path("x"), None).await;
    assert!(matches!(missing, Err(EnvdError::NotFound(_))));
}

#[tokio::test]
async fn a_tree_is_moved_to_another_filesystem_with_all_it_has() {
    let guest = Guest::new();
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let script = format!(
        "cd {} && mkdir -p tree/sub && echo hi > tree/sub/file && chmod 750 tree/sub && ln -s file tree/sub/link && touch -d @1000000 tree/sub/file",
        guest.path("")
    );
    assert_eq!(guest.run(&script).await.code(), 0);
    let target = elsewhere.path().join("moved");
    guest.envd.rename(&guest.path("tree"), target.to_str().unwrap(), None).await.unwrap();
    assert!(!std::path::Path::new(&guest.path("tree")).exists());
    assert_eq!(std::fs::read_to_string(target.join("sub/link")).unwrap(), "hi\n");
    let sub = guest.envd.stat(target.join("sub").to_str().unwrap(), None).await.unwrap();
    assert_eq!(sub.mode, 0o750);
    let file = guest.envd.stat(target.join("sub/file").to_str().unwrap(), None).await.unwrap();
    assert_eq!(file.modified_s, 1_000_000);
}

#[tokio::test]
async fn things_are_removed_whole_and_what_is_gone_is_gone() {
    let guest = Guest::new();
    std::fs::create_dir_all(guest.path("tree/a/b")).unwrap();
    std::fs::write(guest.path("kept"), "").unwrap();
    std::os::unix::fs::symlink(guest.path("kept"), guest.path("tree/a/link")).unwrap();
    for _ in 0..2 {
        guest.envd.remove(&guest.path("tree"), None).await.unwrap();
        assert!(!std::path::Path::new(&guest.path("tree")).exists());
    }
    assert!(std::path::Path::new(&guest.path("kept")).exists());
}

#[tokio::test]
async fn a_tree_deeper_than_any_path_is_listed_and_removed() {
    let guest = Guest::new();
    // Far deeper than 4096 bytes of path, and than a stack or a table of descriptors would go.
    let mut here =
        std::fs::create_dir(guest.path("top")).and_then(|()| std::fs::File::open(guest.path("top"))).unwrap();
    for _ in 0..3000 {
        rustix::fs::mkdirat(&here, "d", rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
        here = rustix::fs::openat(&here, "d", flags, rustix::fs::Mode::empty()).unwrap().into();
    }
    let entries = guest.envd.list(&guest.path("top"), 100_000, None).await.unwrap();
    assert!(entries.len() > 1000, "{}", entries.len());
    guest.envd.remove(&guest.path("top"), None).await.unwrap();
    assert!(!std::path::Path::new(&guest.path("top")).exists());
}

#[tokio::test]
async fn a_folder_of_a_hundred_thousand_files_is_listed_and_removed() {
    let guest = Guest::new();
    let folder = guest.path("many");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..100_000 {
        std::fs::File::create(format!("{folder}/{number:06}")).unwrap();
    }
    let entries = guest.envd.list(&folder, 1, None).await.unwrap();
    assert_eq!((entries.len(), entries[99_999].name.as_str()), (100_000, "099999"));
    guest.envd.remove(&folder, None).await.unwrap();
    assert!(!std::path::Path::new(&folder).exists());
}
