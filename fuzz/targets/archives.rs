//! Tar archives that become layers: whatever is in one, nothing is written beside its folder.
#![no_main]

use carrel_sandbox::template::{Limits, Progress, unpack};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let place = tempfile::tempdir().expect("there is room");
    let folder = place.path().join("folder");
    std::fs::create_dir(&folder).expect("there is room");
    let limits = Limits { entries: 64, bytes: 1 << 20, header: 64 << 10 };
    let _ = unpack(bytes, &folder, &limits, &Progress::silent());
    let beside: Vec<_> =
        std::fs::read_dir(place.path()).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(beside, ["folder"], "something came out of the folder");
});
