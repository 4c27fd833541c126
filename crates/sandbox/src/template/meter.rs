//! A reader with an allowance, so that a header cannot ask for all of our memory.

use std::{
    cell::Cell,
    io::{self, Read, Seek, SeekFrom},
    rc::Rc,
};

/// Reads no more than it is allowed to at a time.
pub(super) struct Meter<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

/// What a meter may still read.
pub(super) struct Allowance(Rc<Cell<u64>>);

impl<R: Read> Meter<R> {
    pub(super) fn new(inner: R, allowance: u64) -> (Self, Allowance) {
        let left = Rc::new(Cell::new(allowance));
        (Meter { inner, left: left.clone() }, Allowance(left))
    }
}

impl Allowance {
    pub(super) fn set(&self, bytes: u64) {
        self.0.set(bytes);
    }

    pub(super) fn unbounded(&self) {
        self.0.set(u64::MAX);
    }
}

impl<R: Read> Read for Meter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a header is too long"));
        }
        let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut buffer[..room])?;
        self.left.set(left - read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Meter<R> {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.inner.seek(place)
    }
}
