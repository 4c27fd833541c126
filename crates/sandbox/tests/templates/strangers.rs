//! Archives of people we do not know.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt, symlink},
    path::Path,
};

use carrel_sandbox::template::{Limits, Progress, TemplateError, Unpacked, unpack};
use proptest::prelude::*;
use tar::EntryType;

use crate::{Heard, House, exists, needs_root, tarball::Tarball};

fn into(folder: &Path, tarball: Vec<u8>) -> Result<Unpacked, TemplateError> {
    unpack(tarball.as_slice(), folder, &Limits::default(), &Progress::silent())
}

#[test]
fn links_lead_nowhere_but_inside() {
    let house = House::open();
    let outside = house.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("dear"), "kept").unwrap();
    let out = outside.display().to_string();
    let draft = house.shelves.draft().unwrap();
    let tarball = Tarball::new()
        .link("absolute", &out)
        .file("absolute/written", "by a stranger")
        .file("absolute/dear", "overwritten")
        .link("up", "../../../../../../../../../../../tmp")
        .file("up/above", "x")
        .link("chain", "./up/../absolute")
        .file("chain/third", "x")
        .hard("stolen", "absolute/dear")
        .folder("absolute/folder/", 0o755)
        .file("/rooted", "x")
        .file("./dotted/./name", "x")
        .done();
    into(draft.folder(), tarball).unwrap();
    assert_eq!(fs::read_to_string(outside.join("dear")).unwrap(), "kept");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    let inside = draft.folder().join(out.trim_start_matches('/'));
    for name in ["written", "third", "folder"] {
        assert!(exists(&inside.join(name)), "{name}");
    }
    assert_eq!(fs::read_to_string(draft.folder().join("stolen")).unwrap(), "overwritten");
    for name in ["tmp/above", "rooted", "dotted/name"] {
        assert!(exists(&draft.folder().join(name)), "{name}");
    }
    assert!(!exists(Path::new("/tmp/above")));
}

#[test]
fn what_cannot_be_meant_well_is_refused_in_a_sentence() {
    let long = "n".repeat(256);
    let deep = "d/".repeat(2500);
    let cases = [
        (Tarball::new().file("../evil", "x"), "outside of its folder"),
        (Tarball::new().file("a/../../evil", "x"), "outside of its folder"),
        (Tarball::new().folder("..", 0o755), "outside of its folder"),
        (Tarball::new().hard("x", "../../etc/passwd"), "outside of its folder"),
        (Tarball::new().hard("x", "/etc/passwd"), "which the layer does not have"),
        (Tarball::new().link("l", "/etc/passwd").hard("x", "l/y"), "which the layer does not have"),
        (Tarball::new().file("f", "x").file("f/under", "x"), "not a folder"),
        (Tarball::new().link("a", "b").link("b", "a").file("a/x", "x"), "not a folder"),
        (Tarball::new().file(&long, "x"), "too long"),
        (Tarball::new().file(&deep, "x"), "too long"),
        (Tarball::new().file("a/.wh...", "x"), "removes no name"),
        (Tarball::new().file("a/.wh.", "x"), "removes no name"),
        (Tarball::new().attributes(&[("path", "a\0b")]).file("x", "x"), "zero byte"),
    ];
    let house = House::open();
    for (tarball, why) in cases {
        let draft = house.shelves.draft().unwrap();
        let error = into(draft.folder(), tarball.done()).unwrap_err();
        assert!(matches!(error, TemplateError::Invalid { .. }), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
    let mut cut = Tarball::new().file("whole", &"x".repeat(5000)).done();
    cut.truncate(2000);
    let error = into(house.shelves.draft().unwrap().folder(), cut).unwrap_err();
    assert!(error.to_string().contains("the middle of `whole`"), "{error}");
    assert!(into(house.shelves.draft().unwrap().folder(), b"this is no archive".repeat(100)).is_err());
    assert_eq!(house.drafts(), 0);
}

#[test]
fn sizes_are_bounded() {
    let house = House::open();
    let limits = Limits { entries: 3, bytes: 1000, header: 8192 };
    let tight = |tarball: Tarball| {
        let draft = house.shelves.draft().unwrap();
        unpack(tarball.done().as_slice(), draft.folder(), &limits, &Progress::silent())
            .map_err(|error| error.to_string())
    };
    let many = Tarball::new().file("1", "").file("2", "").file("3", "").file("4", "");
    assert_eq!(tight(many).unwrap_err(), "the archive has more than 3 entries");
    let big = Tarball::new().file("1", &"x".repeat(600)).file("2", &"x".repeat(600));
    assert_eq!(tight(big).unwrap_err(), "the archive unpacks to more than 1000 bytes");
    let wordy = Tarball::new().entry(EntryType::GNULongName, "x", "", 0, (0, 0), &[b'n'; 100_000]).file("1", "");
    assert!(tight(wordy).unwrap_err().contains("a header is too long"));
    assert_eq!(tight(Tarball::new().file("1", &"x".repeat(1000))).unwrap().bytes, 1000);
}

#[test]
fn owners_permissions_and_attributes_are_kept_as_far_as_they_are_harmless() {
    needs_root();
    let house = House::open();
    let draft = house.shelves.draft().unwrap();
    let heard = Heard::default();
    let file = EntryType::Regular;
    let tarball = Tarball::new()
        .folder("./", 0o750)
        .entry(EntryType::Directory, "closed/", "", 0o500, (7, 8), b"")
        .file("closed/inside", "x")
        .entry(file, "setuid", "", 0o4755, (0, 0), b"x")
        .entry(file, "owned", "", 0o640, (1000, 65535), b"x")
        .entry(file, "stranger", "", 0o644, (65536, 4_000_000), b"x")
        .attributes(&[
            ("SCHILY.xattr.user.note", "hello"),
            ("SCHILY.xattr.user.overlay.redirect", "/etc"),
            ("SCHILY.xattr.trusted.overlay.redirect", "/etc"),
            ("SCHILY.xattr.trusted.overlay.metacopy", ""),
            ("SCHILY.xattr.security.capability", "x"),
        ])
        .file("noted", "x")
        .entry(EntryType::Char, "dev/null", "", 0o666, (0, 0), b"")
        .entry(EntryType::Block, "dev/disk", "", 0o666, (0, 0), b"")
        .entry(EntryType::Fifo, "dev/pipe", "", 0o666, (0, 0), b"")
        .done();
    let done = unpack(tarball.as_slice(), draft.folder(), &Limits::default(), &heard.progress()).unwrap();
    assert_eq!((done.entries, done.left_out), (7, 3));
    let meta = |name: &str| fs::symlink_metadata(draft.folder().join(name)).unwrap();
    let seen = |name: &str| (meta(name).mode() & 0o7777, meta(name).uid(), meta(name).gid());
    assert_eq!(seen(""), (0o750, 0, 0));
    assert_eq!(seen("closed"), (0o500, 7, 8));
    assert_eq!(seen("setuid"), (0o4755, 0, 0));
    assert_eq!(seen("owned"), (0o640, 1000, 65535));
    assert_eq!(seen("stranger"), (0o644, 65534, 65534));
    assert_eq!((meta("owned").mtime(), meta("closed").mtime()), (1_600_000_000, 1_600_000_000));
    for name in ["dev/null", "dev/disk", "dev/pipe"] {
        assert!(!exists(&draft.folder().join(name)), "{name}");
    }
    assert!(
        heard.has("left out `dev/null`: it is a device") && heard.has("gave `stranger` to nobody"),
        "{:?}",
        heard.all()
    );
    let mut list = vec![0; 1024];
    let length = rustix::fs::listxattr(draft.folder().join("noted"), &mut list[..]).unwrap();
    assert_eq!(&list[..length], b"user.note\0");
}

#[test]
fn what_a_layer_removes_is_gone_through_overlayfs() {
    needs_root();
    let house = House::open();
    let below = Tarball::new()
        .file("kept", "below")
        .file("removed", "below")
        .file("replaced/old", "below")
        .file("emptied/old", "below")
        .file("again/old", "below")
        .file("late/old", "below")
        .file("merged/old", "below");
    let above = Tarball::new()
        .file(".wh.removed", "")
        .file(".wh.never-there", "")
        .file("emptied/.wh..wh..opq", "")
        .file("emptied/new", "above")
        // Removed, and brought again by the same layer, in either order.
        .file(".wh.again", "")
        .folder("again/", 0o755)
        .file("again/new", "above")
        .file("late/new", "above")
        .file(".wh.late", "")
        .file("replaced", "a file now")
        .file("merged/new", "above")
        .file(".wh..wh.plnk", "")
        .file("hard", "two names")
        .hard("names/other", "hard");
    let mut layers = Vec::new();
    for tarball in [below, above] {
        let draft = house.shelves.draft().unwrap();
        into(draft.folder(), tarball.done()).unwrap();
        layers.push(house.shelves.adopt(draft.folder().to_owned()).unwrap().0);
    }
    assert!(fs::symlink_metadata(house.at(&layers[1], "removed")).unwrap().file_type().is_char_device());
    assert_eq!(
        fs::metadata(house.at(&layers[1], "hard")).unwrap().ino(),
        fs::metadata(house.at(&layers[1], "names/other")).unwrap().ino()
    );
    let seen = house.seen_through_overlay(&layers, "find . -type f | sort | tr '\\n' ' '; cat replaced");
    assert_eq!(
        seen,
        "./again/new ./emptied/new ./hard ./kept ./late/new ./merged/new ./merged/old ./names/other ./replaced a file now"
    );
}

fn names() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "c", "link", "up", "root"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["..", ".", "", ".wh.a", ".wh.b", ".wh..wh..opq", ".wh...", "…"]).prop_map(str::to_owned),
        1 => "[^\0/]{1,20}",
    ];
    (any::<bool>(), prop::collection::vec(part, 1..6))
        .prop_map(|(rooted, parts)| format!("{}{}", if rooted { "/" } else { "" }, parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_archive_reaches_its_neighbour(entries in prop::collection::vec((0..5_u8, names(), names()), 1..24)) {
        let house = House::open();
        let neighbour = house.path("neighbour");
        fs::create_dir(&neighbour).unwrap();
        fs::write(neighbour.join("dear"), "kept").unwrap();
        let draft = house.shelves.draft().unwrap();
        symlink(&neighbour, draft.folder().join("link")).unwrap();
        symlink("../../../../neighbour", draft.folder().join("up")).unwrap();
        symlink("/", draft.folder().join("root")).unwrap();
        let mut tarball = Tarball::new();
        for (kind, name, target) in entries {
            let target: String = target.chars().filter(char::is_ascii).take(90).collect();
            tarball = match kind {
                0 | 1 => tarball.file(&name, "x"),
                2 => tarball.folder(&name, 0o755),
                3 => tarball.link(&name, &target),
                _ => tarball.hard(&name, &target),
            };
        }
        let _ = into(draft.folder(), tarball.done());
        let left: Vec<_> = fs::read_dir(&neighbour).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        prop_assert_eq!(left, ["dear"]);
        prop_assert_eq!(fs::read_to_string(neighbour.join("dear")).unwrap(), "kept");
        let beside: Vec<_> = fs::read_dir(house.path("shelves/drafts")).unwrap().collect();
        prop_assert_eq!(beside.len(), 1);
        prop_assert_eq!(fs::read_dir(draft.folder().parent().unwrap()).unwrap().count(), 1);
        prop_assert_eq!(fs::read_dir(house.folder.path()).unwrap().count(), 2);
    }
}
