use std::os::unix::fs::{MetadataExt, PermissionsExt};

use carrel_envd::EnvdError;

use crate::guest::{Guest, all, content, is_root};

type Archive = ::tar::Builder<Vec<u8>>;

#[tokio::test]
async fn a_folder_comes_back_as_it_went() {
    let guest = Guest::new();
    let script = "mkdir -p tree/empty tree/sub; echo hi > tree/sub/file; chmod 4751 tree/sub/file; ln -s sub/file tree/link; ln -s /nowhere tree/bad; touch -d @1000000 tree/sub/file; chmod 700 tree/empty; touch -d @2000000 tree/empty; printf '' > \"tree/line\nbreak\"";
    assert_eq!(guest.run(&format!("cd {} && {script}", guest.path(""))).await.code(), 0);
    let archive = all(guest.envd.download_tar(&guest.path("tree"), None).await.unwrap().content).await;
    guest.envd.upload_tar(&guest.path("copy/here"), None, content(archive)).await.unwrap();
    let file = std::fs::metadata(guest.path("copy/here/sub/file")).unwrap();
    assert_eq!((file.mode() & 0o7777, file.mtime()), (0o4751, 1_000_000));
    let empty = std::fs::metadata(guest.path("copy/here/empty")).unwrap();
    assert_eq!((empty.mode() & 0o7777, empty.mtime()), (0o700, 2_000_000));
    assert_eq!(std::fs::read_link(guest.path("copy/here/bad")).unwrap().to_str(), Some("/nowhere"));
    assert_eq!(std::fs::read_to_string(guest.path("copy/here/link")).unwrap(), "hi\n");
    assert!(std::path::Path::new(&guest.path("copy/here/line\nbreak")).exists());
}

#[tokio::test]
async fn an_archive_of_others_is_understood_with_long_names_and_hard_links() {
    let guest = Guest::new();
    let long = "n".repeat(120);
    let script = format!(
        "cd {} && mkdir -p t/{long}/{long} && echo x > t/{long}/{long}/a && ln t/{long}/{long}/a t/b && tar -C t -cf t.tar .",
        guest.path("")
    );
    let ran = guest.run(&script).await;
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    guest
        .envd
        .upload_tar(&guest.path("out"), None, content(std::fs::read(guest.path("t.tar")).unwrap()))
        .await
        .unwrap();
    assert_eq!(std::fs::read_to_string(guest.path(&format!("out/{long}/{long}/a"))).unwrap(), "x\n");
    assert_eq!(std::fs::metadata(guest.path("out/b")).unwrap().nlink(), 2);
}

#[tokio::test]
async fn nothing_in_an_archive_leads_out_of_its_folder() {
    let guest = Guest::new();
    std::fs::create_dir_all(guest.path("outside")).unwrap();
    std::fs::write(guest.path("outside/kept"), "kept").unwrap();
    let outside = guest.path("outside");
    let evil: [&dyn Fn(&mut Archive); 4] = [
        &|archive| put(archive, b"../outside/kept", ::tar::EntryType::Regular, None),
        &|archive| put(archive, b"a/../../outside/kept", ::tar::EntryType::Regular, None),
        &|archive| {
            put(archive, b"link", ::tar::EntryType::Symlink, Some(&outside));
            put(archive, b"link/kept", ::tar::EntryType::Regular, None);
        },
        &|archive| put(archive, b"hard", ::tar::EntryType::Link, Some("../outside/kept")),
    ];
    for (number, fill) in evil.into_iter().enumerate() {
        let mut archive = ::tar::Builder::new(Vec::new());
        fill(&mut archive);
        let bytes = archive.into_inner().unwrap();
        let refused = guest.envd.upload_tar(&guest.path(&format!("in{number}")), None, content(bytes)).await;
        assert!(matches!(refused, Err(EnvdError::Invalid(_))), "{number}: {refused:?}");
        assert_eq!(std::fs::read_to_string(guest.path("outside/kept")).unwrap(), "kept", "{number}");
        assert_eq!(std::fs::metadata(guest.path("outside/kept")).unwrap().nlink(), 1);
    }
    // A link that was there before the archive came.
    std::fs::create_dir(guest.path("prepared")).unwrap();
    std::os::unix::fs::symlink(&outside, guest.path("prepared/link")).unwrap();
    let mut archive = ::tar::Builder::new(Vec::new());
    put(&mut archive, b"link/kept", ::tar::EntryType::Regular, None);
    let refused = guest.envd.upload_tar(&guest.path("prepared"), None, content(archive.into_inner().unwrap())).await;
    assert!(matches!(refused, Err(EnvdError::Invalid(_))), "{refused:?}");
    // One in the place of a file is replaced, not followed.
    let mut archive = ::tar::Builder::new(Vec::new());
    put(&mut archive, b"link", ::tar::EntryType::Regular, None);
    guest.envd.upload_tar(&guest.path("prepared"), None, content(archive.into_inner().unwrap())).await.unwrap();
    assert!(std::fs::symlink_metadata(guest.path("prepared/link")).unwrap().is_file());
    assert_eq!(std::fs::read_to_string(guest.path("outside/kept")).unwrap(), "kept");
}

#[tokio::test]
async fn what_is_unpacked_belongs_to_the_user() {
    assert!(is_root(), "this test needs root: only root can give files away");
    let guest = Guest::new();
    let mut archive = ::tar::Builder::new(Vec::new());
    put(&mut archive, b"deep/file", ::tar::EntryType::Regular, None);
    let bytes = archive.into_inner().unwrap();
    guest.envd.upload_tar(&guest.path("theirs"), Some("nobody"), content(bytes)).await.unwrap();
    for path in ["theirs", "theirs/deep", "theirs/deep/file"] {
        assert_eq!(std::fs::metadata(guest.path(path)).unwrap().uid(), 65_534, "{path}");
    }
}

#[tokio::test]
async fn what_is_no_archive_is_refused_and_a_missing_folder_too() {
    let guest = Guest::new();
    let refused = guest.envd.upload_tar(&guest.path("x"), None, content(vec![7; 4096])).await;
    assert!(matches!(refused, Err(EnvdError::Invalid(_))), "{refused:?}");
    let missing = guest.envd.download_tar(&guest.path("none"), None).await.map(drop);
    assert!(matches!(missing, Err(EnvdError::NotFound(_))));
    let file = guest.envd.download_tar("/etc/passwd", None).await.map(drop);
    assert!(matches!(file, Err(EnvdError::Invalid(_))));
    std::fs::set_permissions(guest.path("x"), PermissionsExt::from_mode(0o755)).unwrap();
}

/// An entry as only an evil archive has it: the name is taken as it is.
fn put(archive: &mut Archive, name: &[u8], kind: ::tar::EntryType, link: Option<&str>) {
    let mut header = ::tar::Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_mode(0o644);
    if let Some(link) = link {
        header.as_gnu_mut().unwrap().linkname[..link.len()].copy_from_slice(link.as_bytes());
    }
    let content: &[u8] = if kind == ::tar::EntryType::Regular { b"evil" } else { b"" };
    header.set_size(content.len() as u64);
    header.set_cksum();
    archive.append(&header, content).unwrap();
}
