//! Images in tarballs.

use std::fs;

use carrel_sandbox::template::{Progress, Template, TemplateError, import_archive};
use serde_json::json;

use crate::{
    Heard, House, exists, needs_root,
    tarball::{Tarball, architecture, gzip, image_config, sum, zstd},
};

fn layers() -> [Vec<u8>; 2] {
    let below = Tarball::new().file("etc/motd", "below").file("gone", "x").done();
    let above = Tarball::new().file("etc/motd", "above").file(".wh.gone", "").done();
    [below, above]
}

/// As `docker save` wrote it for years.
fn docker_save(layers: &[Vec<u8>], promised: &[&[u8]]) -> Vec<u8> {
    let config = image_config(promised);
    let name = format!("{}.json", sum(config.as_bytes()).trim_start_matches("sha256:"));
    let names: Vec<String> = (0..layers.len()).map(|index| format!("layer-{index}/layer.tar")).collect();
    let manifest = json!([{"Config": name, "RepoTags": ["tool:1"], "Layers": names}]).to_string();
    let mut archive = Tarball::new().file(&name, &config).file("manifest.json", &manifest);
    for (name, layer) in names.iter().zip(layers) {
        archive = archive.entry(tar::EntryType::Regular, name, "", 0o644, (0, 0), layer);
    }
    archive.done()
}

/// In the OCI layout, by way of an index for several platforms. The blobs may be given other content than promised.
fn oci_layout(layers: &[Vec<u8>], plain: &[&[u8]], platform: &str, spoil: Option<usize>) -> Vec<u8> {
    let blob = |name: &str| format!("blobs/sha256/{}", name.trim_start_matches("sha256:"));
    let config = image_config(plain);
    let mut archive = Tarball::new().file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
    let mut entries = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        let mut content = layer.clone();
        if spoil == Some(index) {
            let middle = content.len() / 2;
            content[middle] ^= 1;
        }
        archive = archive.entry(tar::EntryType::Regular, &blob(&sum(layer)), "", 0o644, (0, 0), &content);
        entries.push(json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": sum(layer), "size": layer.len()}));
    }
    let manifest = json!({
        "schemaVersion": 2,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": sum(config.as_bytes()), "size": config.len()},
        "layers": entries,
    })
    .to_string();
    let index = json!({"schemaVersion": 2, "manifests": [
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": sum(b"other"), "size": 5,
         "platform": {"os": "plan9", "architecture": "mips"}},
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": sum(manifest.as_bytes()), "size": manifest.len(),
         "platform": {"os": "linux", "architecture": platform}},
    ]})
    .to_string();
    let outer = json!({"schemaVersion": 2, "manifests": [
        {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": sum(index.as_bytes()), "size": index.len()},
    ]})
    .to_string();
    archive
        .file(&blob(&sum(config.as_bytes())), &config)
        .file(&blob(&sum(manifest.as_bytes())), &manifest)
        .file(&blob(&sum(index.as_bytes())), &index)
        .file("index.json", &outer)
        .done()
}

async fn import(house: &House, archive: &[u8], heard: &Heard) -> Result<Template, TemplateError> {
    let path = house.path("image.tar");
    fs::write(&path, archive).unwrap();
    let template = import_archive(&house.shelves, &"tool".parse().unwrap(), &path, &heard.progress()).await;
    assert_eq!(house.drafts(), 0);
    template
}

fn is_the_image(house: &House, template: &Template) {
    needs_root();
    let seen = house.seen_through_overlay(&template.layers, "find . -type f; cat etc/motd");
    assert_eq!(seen, "./etc/motd\nabove");
    assert_eq!(template.config.env["EQUATION"], "a=b");
    assert_eq!(template.config.user.as_deref(), Some("1000:1000"));
    assert_eq!(template.config.workdir.as_deref(), Some("/srv"));
    assert_eq!(template.config.start_command, None);
    assert!(template.origin.contains("would start `/bin/tool serve`"), "{}", template.origin);
    for layer in &template.layers {
        assert!(house.shelves.verify(layer).unwrap());
    }
}

#[tokio::test]
async fn what_docker_saved_becomes_a_template() {
    let house = House::open();
    let layers = layers();
    let plain: Vec<&[u8]> = layers.iter().map(Vec::as_slice).collect();
    let archive = docker_save(&layers, &plain);
    let template = import(&house, &archive, &Heard::default()).await.unwrap();
    is_the_image(&house, &template);
    assert!(template.origin.contains("tool:1"), "{}", template.origin);
    // Once more, packed: the layers are known.
    let heard = Heard::default();
    let again = import(&house, &gzip(&archive), &heard).await.unwrap();
    assert_eq!(again.layers, template.layers);
    assert!(heard.has("layer 2/2 (known)"), "{:?}", heard.all());
}

#[tokio::test]
async fn an_oci_layout_becomes_a_template_however_its_layers_are_packed() {
    let house = House::open();
    let plain = layers();
    let promised: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
    let packed = [gzip(&plain[0]), zstd(&plain[1])];
    let archive = oci_layout(&packed, &promised, architecture(), None);
    let template = import(&house, &archive, &Heard::default()).await.unwrap();
    is_the_image(&house, &template);
    // The same content packed in another way is the same layers.
    let again = import(&house, &oci_layout(&plain, &promised, architecture(), None), &Heard::default()).await.unwrap();
    assert_eq!(again.layers, template.layers);
    assert_eq!(house.layers(), 2);
}

#[tokio::test]
async fn a_layer_that_is_not_what_was_promised_is_refused() {
    let house = House::open();
    let plain = layers();
    let promised: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
    let packed = [gzip(&plain[0]), gzip(&plain[1])];
    let archive = oci_layout(&packed, &promised, architecture(), Some(1));
    let error = import(&house, &archive, &Heard::default()).await.unwrap_err();
    assert!(error.to_string().contains("is not what it should be"), "{error}");

    let error = import(&house, &docker_save(&plain, &[&plain[0], b"another"]), &Heard::default()).await.unwrap_err();
    assert!(error.to_string().contains("is not what it should be"), "{error}");
    let error = import(&house, &docker_save(&plain, &[&plain[0]]), &Heard::default()).await.unwrap_err();
    assert!(error.to_string().contains("2 layers and 1 digests"), "{error}");
}

#[tokio::test]
async fn an_archive_for_another_machine_or_of_another_kind_is_refused_in_a_sentence() {
    let house = House::open();
    let plain = layers();
    let promised: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
    let error = import(&house, &oci_layout(&plain, &promised, "s390x", None), &Heard::default()).await.unwrap_err();
    assert!(matches!(error, TemplateError::Unfit { .. }), "{error:?}");
    assert!(error.to_string().contains("it has plan9/mips, linux/s390x"), "{error}");
    let error = import(&house, &plain[0], &Heard::default()).await.unwrap_err();
    assert!(error.to_string().contains("`docker save` writes images"), "{error}");
    let missing = house.path("nowhere.tar");
    let name = "tool".parse().unwrap();
    assert!(import_archive(&house.shelves, &name, &missing, &Progress::silent()).await.is_err());
}

#[tokio::test]
async fn an_image_of_a_stranger_leaves_nothing_outside() {
    let house = House::open();
    let outside = house.path("outside");
    fs::create_dir(&outside).unwrap();
    let evil = Tarball::new().link("way", &outside.display().to_string()).file("way/out", "x").done();
    let template =
        import(&house, &docker_save(std::slice::from_ref(&evil), &[&evil]), &Heard::default()).await.unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(exists(&house.at(&template.layers[0], "way")));
    let worse = Tarball::new().file("../../out", "x").done();
    let error =
        import(&house, &docker_save(std::slice::from_ref(&worse), &[&worse]), &Heard::default()).await.unwrap_err();
    assert!(error.to_string().contains("outside of its folder"), "{error}");
    assert_eq!(house.layers(), 1);
}

#[tokio::test]
async fn a_layer_that_hides_everything_below_is_the_lowest() {
    let house = House::open();
    let below = Tarball::new().file("old", "x").done();
    let above = Tarball::new().file(".wh..wh..opq", "").file("new", "x").done();
    let archive = docker_save(&[below.clone(), above.clone()], &[&below, &above]);
    let template = import(&house, &archive, &Heard::default()).await.unwrap();
    assert_eq!(template.layers.len(), 1);
    assert!(exists(&house.at(&template.layers[0], "new")));
}

#[tokio::test]
async fn an_archive_that_is_called_off_leaves_no_more_than_the_layers_that_are_whole() {
    let house = House::open();
    let plain = layers();
    let promised: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
    let (path, name) = (house.path("image.tar"), "tool".parse().unwrap());
    fs::write(&path, gzip(&docker_save(&plain, &promised))).unwrap();
    for (words, layers) in [("reading", 0), ("layer 1/2", 0), ("layer 2/2", 1)] {
        let progress = Heard::default().progress_until(words);
        let error = import_archive(&house.shelves, &name, &path, &progress).await.unwrap_err();
        assert!(error.to_string().contains("called off"), "{words}: {error}");
        assert_eq!((house.drafts(), house.layers()), (0, layers), "{words}");
    }
}
