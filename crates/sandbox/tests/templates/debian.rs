//! Debian from its packages, for real: this needs `mmdebstrap` and a mirror.

use std::{fs, os::unix::fs::MetadataExt};

use carrel_sandbox::template::{TemplateError, make_debian};

use crate::{Heard, House, exists, needs_root};

fn needs_mmdebstrap() {
    let found = fs::exists("/usr/bin/mmdebstrap").unwrap();
    assert!(found, "this test makes Debian: run scripts/setup, or `apt-get install mmdebstrap`");
}

#[tokio::test]
async fn debian_is_made_from_its_packages() {
    needs_root();
    needs_mmdebstrap();
    let house = House::open();
    let heard = Heard::default();
    let name = "debian".parse().unwrap();
    let template =
        Box::pin(make_debian(&house.shelves, &name, "bookworm", &["ca-certificates".to_owned()], &heard.progress()))
            .await
            .unwrap();
    house.shelves.keep(&template).unwrap();
    assert_eq!(house.drafts(), 0);
    let layer = &template.layers[0];
    for name in ["usr/bin/apt-get", "etc/ssl/certs/ca-certificates.crt", "home/user/.bashrc", "tmp", "var/log"] {
        assert!(exists(&house.at(layer, name)), "{name} is missing");
    }
    let left = "find dev run tmp var/tmp var/log var/cache/apt var/lib/apt/lists ! -type d";
    assert_eq!(house.seen_through_overlay(&template.layers, left), "");
    assert_eq!(fs::read(house.at(layer, "etc/machine-id")).unwrap(), b"");
    assert_eq!(fs::read_to_string(house.at(layer, "etc/hostname")).unwrap(), "carrel\n");
    let passwd = fs::read_to_string(house.at(layer, "etc/passwd")).unwrap();
    assert!(passwd.contains("user:x:1000:1000:user:/home/user:/bin/bash\n"), "{passwd}");
    assert_eq!(fs::metadata(house.at(layer, "home/user")).unwrap().uid(), 1000);
    let shadow = fs::metadata(house.at(layer, "etc/shadow")).unwrap();
    assert_eq!(shadow.mode() & 0o007, 0);
    assert!(heard.all().len() > 3, "{:?}", heard.all());
    assert!(template.bytes > 50_000_000, "{}", template.bytes);
    let said = house.seen_through_overlay(
        &template.layers,
        "chroot . sh -c '. /etc/os-release; echo $VERSION_CODENAME; id -u user'",
    );
    assert_eq!(said, "bookworm\n1000\n");

    let error =
        Box::pin(make_debian(&house.shelves, &name, "bookworm", &["no-such-package".to_owned()], &heard.progress()))
            .await
            .unwrap_err();
    assert!(matches!(error, TemplateError::Invalid { .. }), "{error:?}");
    assert!(error.to_string().contains("no-such-package"), "{error}");
    let error = Box::pin(make_debian(&house.shelves, &name, "--evil", &[], &heard.progress())).await.unwrap_err();
    assert!(matches!(error, TemplateError::Invalid { .. }), "{error:?}");
    assert_eq!(house.drafts(), 0);
}

#[tokio::test]
async fn a_debian_that_is_called_off_leaves_nothing() {
    needs_root();
    needs_mmdebstrap();
    let house = House::open();
    let heard = Heard::default();
    let name = "debian".parse().unwrap();
    let progress = heard.progress();
    let making = make_debian(&house.shelves, &name, "bookworm", &[], &progress);
    let begun = async {
        while !heard.has("running apt-get") {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        made = Box::pin(making) => panic!("it was done before it could be called off: {made:?}"),
        () = begun => {}
    }
    // The tool is killed with all that it started; the draft goes when its thread has seen the end of the stream.
    while house.drafts() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.layers(), 0);
    let folder = house.folder.path().display().to_string();
    assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains(&folder));
}

#[tokio::test]
async fn a_debian_that_is_called_off_by_the_house_is_over_when_it_says_so() {
    needs_root();
    needs_mmdebstrap();
    let house = House::open();
    let progress = Heard::default().progress_until("running apt-get");
    let name = "debian".parse().unwrap();
    let error = Box::pin(make_debian(&house.shelves, &name, "bookworm", &[], &progress)).await.unwrap_err();
    assert!(error.to_string().contains("called off"), "{error}");
    assert_eq!((house.drafts(), house.layers()), (0, 0));
    let folder = house.folder.path().display().to_string();
    assert!(!fs::read_to_string("/proc/self/mounts").unwrap().contains(&folder));
}
