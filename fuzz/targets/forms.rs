//! Forms of several parts. However one arrives, the same content is in it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let whole = carrel_envd::daemon::fuzz::multipart("x", bytes, bytes.len());
    let parts = carrel_envd::daemon::fuzz::multipart("x", bytes, usize::from(cut));
    assert_eq!(whole, parts);
});
