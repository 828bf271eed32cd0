//! `compare`: runs the kernels beside their CUDA C++ twins, by `coalesce compare`.

use std::ffi::OsString;

use anyhow::Result;

use crate::layout::Layout;
use crate::{PassedOn, coalesce};

/// Builds `coalesce`, tells it where the twins' sources are and passes the arguments on.
pub(crate) fn main(arguments: &PassedOn) -> Result<u8> {
    let mut all = Vec::new();
    // Who names a folder of twins means that one.
    if !arguments.arguments.iter().any(|argument| argument.to_string_lossy().starts_with("--reference")) {
        all.extend([OsString::from("--reference"), Layout::find()?.reference().into_os_string()]);
    }
    all.extend(arguments.arguments.iter().cloned());
    coalesce::pass_on("compare", &all)
}
