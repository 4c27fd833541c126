//! The wrapping of a parcel: three files in a tar archive, the card first.

use std::{
    fs::File,
    io::{self, BufWriter, Seek, Write},
    path::Path,
};

use carrel_model::{parcel::Parcel, session::Moment};

/// The card.
pub(super) const CARD: &str = "task.json";
/// What was said and done: one moment to a line.
pub(super) const TIMELINE: &str = "timeline.jsonl";
/// The commits.
pub(super) const WORK: &str = "work.pack";

/// A timeline that is being written down.
pub(super) struct Timeline(BufWriter<File>);

impl Timeline {
    pub(super) fn create(folder: &Path) -> io::Result<Timeline> {
        Ok(Timeline(BufWriter::new(File::create_new(folder.join(TIMELINE))?)))
    }

    pub(super) fn write(&mut self, moment: &Moment) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, moment)?;
        self.0.write_all(b"\n")
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Puts the three together, and gives the archive from its beginning.
pub(super) fn wrap(folder: &Path, parcel: &Parcel) -> io::Result<File> {
    let mut archive = tar::Builder::new(tempfile::tempfile_in(folder)?);
    let card = serde_json::to_vec_pretty(parcel)?;
    archive.append_data(&mut header(card.len() as u64), CARD, card.as_slice())?;
    for name in [TIMELINE, WORK] {
        let file = File::open(folder.join(name))?;
        archive.append_data(&mut header(file.metadata()?.len()), name, file)?;
    }
    let mut file = archive.into_inner()?;
    file.rewind()?;
    Ok(file)
}

fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o600);
    header
}
