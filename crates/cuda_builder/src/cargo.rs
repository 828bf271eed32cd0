//! The nested cargo that compiles the kernel crate to rlibs of bitcode.
//!
//! `cargo rustc --crate-type rlib` overrides whatever crate types the manifest names, so that rustc does not link for
//! the GPU, for which it would need a linker that stock toolchains do not have. It cannot override them for dependencies;
//! those that are `cdylib` as well, as kernel crates are, get a [linker](LINKER) that writes an empty file. `core` and
//! `alloc` are compiled along: there is no prebuilt one for this target that has what we need.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Message, TargetKind};

use crate::crate_attributes::Attributes;
use crate::link::{Rlib, Role};
use crate::toolchain::Toolchain;
use crate::{CudaBuilderError, NvvmArch, environment};

const TARGET: &str = "nvptx64-nvidia-cuda";

/// The [linker](LINKER)'s name. rustc finds it on `PATH`: were its path among the flags, nothing that was built in one target
/// folder would be fresh in a copy of that folder.
const LINKER_NAME: &str = "cuda-builder-no-linker.sh";

/// Makes the file that follows `-o`, and nothing in it: what is linked comes from the rlibs. cargo compiles a dependency
/// again whenever a file of its is missing, so there has to be one.
const LINKER: &str =
    "#!/bin/sh\nwhile [ $# -gt 1 ]; do\n    if [ \"$1\" = -o ]; then : >\"$2\"; fi\n    shift\ndone\n";

/// A compilation of a kernel crate: its inputs and options.
#[derive(Debug)]
pub(crate) struct Compile<'a> {
    pub(crate) krate: &'a Path,
    pub(crate) target_dir: &'a Path,
    pub(crate) arch: NvvmArch,
    pub(crate) release: bool,
    pub(crate) line_info: bool,
    pub(crate) arguments: &'a [String],
    pub(crate) attributes: &'a Attributes,
}

/// The result of a compilation.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// Name of the library target.
    pub(crate) name: String,
    /// The kernel crate's first.
    pub(crate) rlibs: Vec<Rlib>,
    /// Files and folders whose change makes another build necessary.
    pub(crate) sources: Vec<PathBuf>,
}

/// Runs cargo. Its messages and rustc's go to our stderr as they are.
pub(crate) fn compile(toolchain: &Toolchain, request: &Compile<'_>) -> Result<Compiled, CudaBuilderError> {
    write_linker(request.target_dir).map_err(CudaBuilderError::file(request.target_dir, "written"))?;
    let mut command = command(toolchain, request);
    let not_run = |source| CudaBuilderError::CompilerNotRun {
        program: toolchain.cargo.clone(),
        variable: "CARGO",
        source,
    };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(not_run)?;
    let mut artifacts = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(stdout)) {
            match message {
                Ok(Message::CompilerArtifact(artifact)) => artifacts.push(artifact),
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
    if !child.wait().map_err(not_run)?.success() {
        return Err(CudaBuilderError::BuildFailed);
    }
    collect(toolchain, request.krate, &artifacts)
}

/// Writes the [linker](LINKER), unless it is there.
fn write_linker(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(LINKER_NAME);
    if std::fs::read(&path).is_ok_and(|text| text == LINKER.as_bytes()) {
        return Ok(());
    }
    std::fs::write(&path, LINKER)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
}

fn command(toolchain: &Toolchain, request: &Compile<'_>) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    environment::clean(&mut command);
    command.current_dir(request.krate);
    command.env("RUSTC", &toolchain.rustc);
    // The device build uses unstable options of a stable compiler; the host build is not touched by this.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(request).join("\x1f"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([request.target_dir.to_owned()]);
    if let Ok(joined) = std::env::join_paths(folders) {
        command.env("PATH", joined);
    }
    if !toolchain.library_path.is_empty() {
        let inherited = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders = toolchain.library_path.iter().cloned().chain(std::env::split_paths(&inherited));
        if let Ok(joined) = std::env::join_paths(folders) {
            command.env("LD_LIBRARY_PATH", joined);
        }
    }
    if environment::build_script_output().is_some() {
        command.env("CARGO_TERM_COLOR", "never");
        command.env("CARGO_TERM_PROGRESS_WHEN", "never");
    }
    command.args(["rustc", "--lib", "--crate-type", "rlib", "--target", TARGET, "-Zbuild-std=core,alloc"]);
    command.arg("--message-format=json-render-diagnostics");
    command.arg("--target-dir").arg(request.target_dir);
    // Even the default, "thin-local", would optimise the bitcode before our passes see it.
    let profile = if request.release { "release" } else { "dev" };
    command.arg("--config").arg(format!("profile.{profile}.lto=\"off\""));
    // The flags decide the debug information. Crates whose workspaces set other values for their host programs
    // then share `core` in one target folder, which takes longer to compile than most kernels.
    command.arg("--config").arg(format!("profile.{profile}.debug=false"));
    for (package, attributes) in &request.attributes.dependencies {
        let flags = attributes.iter().map(|attribute| format!("\"-Zcrate-attr={attribute}\""));
        // Not every crate uses what its kernels may use.
        let flags = flags.chain([String::from("\"-Aunused_features\"")]).collect::<Vec<_>>().join(", ");
        command.arg("-Zprofile-rustflags");
        command.arg("--config").arg(format!("profile.{profile}.package.\"{package}\".rustflags=[{flags}]"));
    }
    if request.release {
        command.arg("--release");
    }
    command.args(request.arguments);
    command.arg("--");
    // Not every crate uses what its kernels may use.
    command.arg("-Aunused_features");
    command.args(request.attributes.kernel_crate.iter().map(|attribute| format!("-Zcrate-attr={attribute}")));
    command
}

/// Flags for every crate of the device build.
fn rust_flags(request: &Compile<'_>) -> Vec<String> {
    let mut flags: Vec<String> = [
        // The passes come first, the optimiser after them: see `passes`.
        "-Cno-prepopulate-passes",
        "-Zunstable-options",
        // Where a condition is asked twice, this pass of rustc's copies what stands between into both branches. It does
        // not know that a barrier or a shuffle there is for all lanes together; LLVM's own passes do.
        "-Zmir-enable-passes=-JumpThreading",
        // A panic is a trap and nothing else: no message is formatted, nothing of the formatting code is linked.
        "-Cpanic=immediate-abort",
        // rustc warns about `target_feature` given by hand, as is done below.
        "-Aexplicit_builtin_cfgs_in_flags",
    ]
    .map(String::from)
    .to_vec();
    if request.attributes.no_std_everywhere {
        // Crates that declare it themselves would get a warning about the second declaration.
        flags.extend(["-Zcrate-attr=no_std", "-Aunused_attributes"].map(String::from));
    }
    flags.push(format!("-Clinker={LINKER_NAME}"));
    flags.push(format!("-Ctarget-cpu={}", request.arch.processor()));
    // Not DWARF, which ptxas refuses in the form LLVM writes it: only `.loc` lines, which profilers read.
    flags.push(String::from(if request.line_info {
        "-Cdebuginfo=line-directives-only"
    } else {
        "-Cdebuginfo=0"
    }));
    for feature in request.arch.all_target_features() {
        flags.extend([String::from("--cfg"), format!("target_feature=\"{feature}\"")]);
    }
    let known: Vec<String> = NvvmArch::ALL.iter().map(|arch| format!("\"{arch}\"")).collect();
    flags.extend([String::from("--check-cfg"), format!("cfg(target_feature, values({}))", known.join(", "))]);
    flags
}

fn collect(
    toolchain: &Toolchain,
    krate: &Path,
    artifacts: &[cargo_metadata::Artifact],
) -> Result<Compiled, CudaBuilderError> {
    let manifest = canonical(&krate.join("Cargo.toml"));
    let mut name = String::new();
    let mut rlibs = Vec::new();
    let mut sources = BTreeSet::new();
    for artifact in artifacts {
        let package = artifact.manifest_path.as_std_path();
        let standard = package.starts_with(&toolchain.library_source)
            || canonical(package).starts_with(canonical(&toolchain.library_source));
        // Only packages by path can change between two builds with one lock file.
        if !standard && artifact.package_id.repr.starts_with("path+") {
            sources.insert(package.to_owned());
            let folder = package.parent().unwrap_or(package);
            sources.extend(
                [folder.join("src"), folder.join("build.rs")].into_iter().filter(|path| path.exists()),
            );
            sources.insert(artifact.target.src_path.clone().into_std_path_buf());
        }
        let rlib = artifact.filenames.iter().find(|file| file.extension() == Some("rlib"));
        let on_host = artifact
            .target
            .kind
            .iter()
            .any(|kind| matches!(kind, TargetKind::ProcMacro | TargetKind::CustomBuild));
        let Some(rlib) =
            rlib.filter(|rlib| !on_host && rlib.components().any(|part| part.as_str() == TARGET))
        else {
            continue;
        };
        let path = rlib.as_std_path().to_owned();
        if canonical(package) == manifest {
            artifact.target.name.clone_into(&mut name);
            sources.extend(dependencies(&path.with_extension("d")));
            rlibs.insert(0, Rlib { path, role: Role::Kernels });
        } else if standard {
            rlibs.push(Rlib { path, role: Role::StandardLibrary });
        } else {
            rlibs.push(Rlib { path, role: Role::Dependency });
        }
    }
    if rlibs.first().is_none_or(|rlib| rlib.role != Role::Kernels) {
        return Err(CudaBuilderError::Rlib {
            path: manifest,
            reason: String::from("cargo built it and named no rlib for it"),
        });
    }
    Ok(Compiled { name, rlibs, sources: sources.into_iter().collect() })
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The files in cargo's dependency file, `output: file file ..`, in which blanks are escaped. They hold what `include_str!`
/// reads, too.
fn dependencies(path: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    parse_dependencies(&text)
}

fn parse_dependencies(text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in text.lines() {
        let Some((_, list)) = line.split_once(": ") else { continue };
        let mut file = String::new();
        for part in list.split(' ') {
            match part.strip_suffix('\\') {
                Some(part) => file += &format!("{part} "),
                None => {
                    file += part;
                    files.push(PathBuf::from(std::mem::take(&mut file)));
                }
            }
        }
    }
    files.retain(|file| !file.as_os_str().is_empty());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arch: NvvmArch, line_info: bool) -> Vec<String> {
        let request = Compile {
            krate: Path::new("kernels"),
            target_dir: Path::new("target"),
            arch,
            release: true,
            line_info,
            arguments: &[],
            attributes: &Attributes::default(),
        };
        rust_flags(&request)
    }

    #[test]
    fn flags_name_the_architecture_in_both_ways() {
        let flags = request(NvvmArch::Compute90a, true);
        for flag in [
            "-Ctarget-cpu=sm_90a",
            "-Cno-prepopulate-passes",
            "-Zmir-enable-passes=-JumpThreading",
            "-Cdebuginfo=line-directives-only",
            "target_feature=\"compute_90a\"",
            "target_feature=\"compute_50\"",
        ] {
            assert!(flags.iter().any(|given| given == flag), "no {flag} in {flags:?}");
        }
        assert!(!flags.iter().any(|flag| flag == "target_feature=\"compute_100\""));
        assert!(request(NvvmArch::Compute75, false).iter().any(|flag| flag == "-Cdebuginfo=0"));
    }

    #[test]
    fn dependency_files_are_read_with_blanks_in_names() {
        let files = parse_dependencies("/t/libk.rlib: /k/src/lib.rs /k/my\\ data/table.bin /k/build.rs\n\n");
        let expected = ["/k/src/lib.rs", "/k/my data/table.bin", "/k/build.rs"].map(PathBuf::from);
        assert_eq!(files, expected);
    }
}
