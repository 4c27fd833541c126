//! Packet lines, and the beginning of a push.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Everything is there already: nothing ever waits.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a thread is there");
    runtime.block_on(carrel_git::fuzz::push(bytes));
});
