//! The folder in which this program was built, and the files that it keeps there.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The folder that cargo built this program into; `None` where the program was carried elsewhere.
pub(crate) fn target() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    // cargo marks its folders by this file.
    program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file()).map(Path::to_path_buf)
}

/// The folder for what the program makes unasked: beside its build, or else among temporary files.
pub(crate) fn folder() -> PathBuf {
    target().unwrap_or_else(env::temp_dir).join("coalesce")
}
