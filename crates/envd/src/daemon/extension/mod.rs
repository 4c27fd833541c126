//! What our envd does beyond E2B's. All of it is extra: a client that does not know of it misses nothing.
//!
//! | what | how |
//! |---|---|
//! | any signal | `SendSignal` takes numbers 1 to 64, and names, in `signal` |
//! | a group | `SendSignal` with `group` reaches everything that a process started and that stayed in its group |
//! | host name | `hostname` in the body of `POST /init`, when envd is pid 1 |
//! | a folder out | `GET /tar?path=&username=`: a tar archive, streamed |
//! | a folder in | `PUT /tar?path=&username=`: unpacked below `path`, for the user; nothing in it leads out |
//! | a port | `POST /port?port=N` with `Connection: Upgrade`, `Upgrade: carrel-port`: 101, then bytes to 127.0.0.1:N or [::1]:N |
//! | the night | `POST /hibernate?hold_ms=N` (host only): closes every line, listens again later (see `lines`) |
//!
//! Every answer carries `x-carrel-envd` with the version, which is how a client knows.

mod init;
mod port;
mod tar;

pub(super) use self::{
    init::{hibernate, init},
    port::port,
    tar::{copy_tree, pack, unpack},
};
