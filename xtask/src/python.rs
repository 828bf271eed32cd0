//! Python with libraries, in a virtual environment in the target folder that is made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// The interpreter of a virtual environment with these libraries, pinned as in `polars==2.1.0`; `None` where Python cannot make
/// one.
///
/// # Errors
/// pip cannot install the libraries.
pub(crate) fn with(target: &Path, libraries: &[&str]) -> Result<Option<PathBuf>> {
    // For these versions: others have an environment of their own.
    let folder = target.join("python").join(libraries.join("-").replace("==", ""));
    let (python, complete) = (folder.join("bin/python"), folder.join("complete"));
    if complete.is_file() {
        return Ok(Some(python));
    }
    let made = process::capture(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    if !made.is_ok_and(|made| made.status.success()) {
        return Ok(None);
    }
    let mut install = Command::new(&python);
    let _ = install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(libraries);
    let _ = process::succeed(&mut install).with_context(|| {
        format!("pip cannot install {}; connect to the network once, they are kept", libraries.join(" "))
    })?;
    fs::write(&complete, "").with_context(|| format!("cannot write {}", complete.display()))?;
    Ok(Some(python))
}
