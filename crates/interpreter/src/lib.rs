//! The code interpreter: Jupyter kernels inside a sandbox, behind the small HTTP door that E2B's SDKs call.
//!
//! It runs in the sandbox, as a verb of the one binary, and speaks the kernels' own protocol. What a cell prints is told
//! while it is printed. Absent on purpose: any idea of Carrel, of sandboxes, and of who may call; envd's neighbours and
//! the house outside know that.
#![forbid(unsafe_code)]

mod contexts;
mod kernel;
mod serve;
mod tell;

pub use kernel::{Kernels, Trouble};
pub use serve::serve;

/// Where the SDKs look for it.
pub const PORT: u16 = 49_999;

/// What Python kernels do first: figures and tables get the two forms that the SDKs read.
pub const PYTHON_STARTUP: &str = include_str!("startup.py");
