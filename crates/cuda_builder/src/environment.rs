//! The part of our environment that a nested cargo may see.
//!
//! A build script runs in an environment that its cargo made for the host build: flags, profile settings, a
//! wrapper around rustc (clippy's, for one), the job server. Passed on, they would reach the device build.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Variables of cargo's that are the user's own settings, by prefix, and stay. Every other `CARGO_..` goes.
const KEPT: [&str; 9] = [
    "CARGO_HOME",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
    "CARGO_CACHE_",
    "CARGO_BUILD_JOBS",
];

/// Others that describe the host build.
const DROPPED: [&str; 18] = [
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC",
    "RUSTDOC",
    "RUSTC_LINKER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CLIPPY_ARGS",
    "CLIPPY_CONF_DIR",
    "MAKEFLAGS",
    "MFLAGS",
    "OUT_DIR",
    "TARGET",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "DEBUG",
    "PROFILE",
    "__CARGO_DEFAULT_LIB_METADATA",
];

/// Takes the host build's variables out of what `command` will see.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if describes_host_build(&name) {
            let _ = command.env_remove(&name);
        }
    }
}

fn describes_host_build(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let of_cargo = name.starts_with("CARGO_") || name == "CARGO";
    (of_cargo && !KEPT.iter().any(|kept| name.starts_with(kept)))
        || DROPPED.contains(&name)
        || name.starts_with("DEP_")
}

/// The output folder of the build script that this code runs in; `None` outside of one.
pub(crate) fn build_script_output() -> Option<PathBuf> {
    // Tests and `cargo run` see OUT_DIR too; OPT_LEVEL is for build scripts alone.
    std::env::var_os("OPT_LEVEL")?;
    std::env::var_os("OUT_DIR").map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_builds_variables_go_and_the_users_settings_stay() {
        let gone = [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MAKEFLAGS",
            "CARGO_CFG_TARGET_ARCH",
            "CARGO_FEATURE_STD",
            "CARGO_MANIFEST_DIR",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_BUILD_TARGET",
            "CARGO_TARGET_DIR",
            "CARGO_INCREMENTAL",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTFLAGS",
            "DEP_Z_ROOT",
            "OPT_LEVEL",
        ];
        let stays = [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "CARGO_TERM_COLOR",
            "CARGO_BUILD_JOBS",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
            "RUSTUP_HOME",
            "PATH",
            "HTTPS_PROXY",
        ];
        for name in gone {
            assert!(describes_host_build(OsStr::new(name)), "{name}");
        }
        for name in stays {
            assert!(!describes_host_build(OsStr::new(name)), "{name}");
        }
    }
}
