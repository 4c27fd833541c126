//! What `fuzz/` throws bytes at, on the guest's side. Only with the feature `fuzz`.

/// Takes a form apart as it arrives in two pieces, and gives how many bytes of content were in it.
pub fn multipart(boundary: &str, bytes: &[u8], cut: usize) -> usize {
    super::files::fuzz(boundary, bytes, cut)
}
