//! `dist`: one folder to carry to a GPU machine without Rust.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use xtask::misuse::Misuse;

use crate::gpu::crates;
use crate::layout::{self, Layout};
use crate::{coalesce, kernels};

/// Arguments of `dist`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder to make; an earlier one is replaced
    #[arg(long, value_name = "DIR", default_value = "dist")]
    out: PathBuf,
}

/// Builds everything in release and lays it out in one folder.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let layout = Layout::find()?;
    let _ = layout.root("dist")?;
    let out = &arguments.out;
    refuse_to_overwrite(out)?;
    // Laid out beside its destination and then moved there, so that no half-made folder is left behind. Made before
    // anything is built, so that a destination without write access is reported at once.
    let draft = sibling(out, "making")?;
    let _ = std::fs::remove_dir_all(&draft);
    let stripped = make_folders(&draft).and_then(|()| fill(&draft, &layout)).and_then(|stripped| {
        replace(&draft, out)?;
        Ok(stripped)
    });
    if stripped.is_err() {
        let _ = std::fs::remove_dir_all(&draft);
    }
    if let Stripped::Not(reason) = stripped? {
        println!("The programs carry their debug information: {reason}");
    }

    let (files, bytes) = measure(out)?;
    println!("{}: {files} files, {:.1} MiB", out.display(), bytes as f64 / f64::from(1 << 20));
    println!("Carry it to the GPU machine and run, in that folder:");
    println!("  ./coalesce run                the experiments");
    println!("  ./xtask test --gpu            the tests");
    println!("  ./xtask compare               beside the CUDA C++ twins (needs nvcc)");
    println!("README.txt in it repeats this and lists what the machine needs.");
    Ok(0)
}

/// The folders of a `dist`, empty.
fn make_folders(folder: &Path) -> Result<()> {
    ["kernels", "reference", crates::FOLDER].iter().map(|sub| folder.join(sub)).try_for_each(|sub| {
        std::fs::create_dir_all(&sub).with_context(|| {
            format!("cannot make {}; name a folder you may write to with --out", sub.display())
        })
    })
}

/// Only an empty folder or an earlier `dist` may be replaced.
fn refuse_to_overwrite(out: &Path) -> Result<()> {
    if !out.exists() || layout::is_dist_folder(out) {
        return Ok(());
    }
    let mut entries = std::fs::read_dir(out)
        .with_context(|| format!("--out {} exists and is not a folder; name a new one", out.display()))?;
    if entries.next().is_some() {
        return Err(Misuse::error(format!(
            "--out {} holds files that `dist` did not make and would delete. Name a new folder, or one that `dist` made.",
            out.display()
        )));
    }
    Ok(())
}

/// `dist.making` beside `dist`.
fn sibling(out: &Path, what: &str) -> Result<PathBuf> {
    let name = out
        .file_name()
        .with_context(|| format!("--out {} names no folder that could be made", out.display()))?;
    Ok(out.with_file_name(format!("{}.{what}", name.to_string_lossy())))
}

fn replace(draft: &Path, out: &Path) -> Result<()> {
    if out.exists() {
        std::fs::remove_dir_all(out)
            .with_context(|| format!("cannot remove the earlier {}", out.display()))?;
    }
    std::fs::rename(draft, out).with_context(|| format!("cannot put {} in place", out.display()))
}

/// Builds what goes into the folder and puts it there.
fn fill(folder: &Path, layout: &Layout) -> Result<Stripped> {
    let root = layout.root("dist")?;
    let mut programs = Vec::new();
    for program in coalesce::build(root, &["host", "xtask"])? {
        programs.push(folder.join(program.file_name().context("a program without a name")?));
        copy(&program, &programs[programs.len() - 1])?;
    }
    for test in crates::build(root)? {
        programs.push(folder.join(crates::FOLDER).join(&test.package));
        copy(&test.program, &programs[programs.len() - 1])?;
    }
    let built = kernels::build(root, Some(&folder.join("kernels")))?;
    let reference = layout.reference();
    let sources =
        std::fs::read_dir(&reference).with_context(|| format!("cannot list {}", reference.display()))?;
    for source in sources {
        let source = source.with_context(|| format!("cannot list {}", reference.display()))?.path();
        if source
            .extension()
            .is_some_and(|extension| ["cu", "cuh", "h"].iter().any(|known| extension == *known))
        {
            copy(
                &source,
                &folder.join("reference").join(source.file_name().context("a source without a name")?),
            )?;
        }
    }
    let stripped = strip("strip", &programs)?;
    let needs = programs.iter().map(|program| glibc_needed(program)).collect::<Result<Vec<_>>>()?;
    let readme = folder.join("README.txt");
    std::fs::write(&readme, readme_text(needs.into_iter().flatten().max(), &built))
        .with_context(|| format!("cannot write {}", readme.display()))?;
    Ok(stripped)
}

/// The outcome of stripping the programs.
#[derive(Debug, PartialEq, Eq)]
enum Stripped {
    /// They were.
    All,
    /// They were not, for this reason.
    Not(String),
}

/// Takes symbols and debug information out of programs with binutils' `strip`, which comes with most C linkers. A program
/// works with them as well.
fn strip(tool: &str, programs: &[PathBuf]) -> Result<Stripped> {
    let output = match Command::new(tool).args(programs).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Stripped::Not(format!("there is no `{tool}`; it is part of binutils")));
        }
        output => output.with_context(|| format!("cannot start {tool}"))?,
    };
    if !output.status.success() {
        bail!("`{tool}` failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(Stripped::All)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let _ = std::fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// The newest glibc version that a program asks for: the highest `GLIBC_2.NN` among its version strings.
fn glibc_needed(program: &Path) -> Result<Option<(u32, u32)>> {
    let bytes = std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let marker = b"GLIBC_";
    let versions = bytes.windows(marker.len()).enumerate().filter(|(_, window)| window == marker).filter_map(
        |(at, _)| {
            let rest = &bytes[at + marker.len()..];
            let end = rest.iter().position(|byte| !(byte.is_ascii_digit() || *byte == b'.'))?;
            let (major, minor) = std::str::from_utf8(&rest[..end]).ok()?.split_once('.')?;
            Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
        },
    );
    Ok(versions.max())
}

fn readme_text(glibc: Option<(u32, u32)>, built: &[kernels::Built]) -> String {
    let mut text = String::from(
        "Coalesce, ready to run on a machine with an NVIDIA GPU and no Rust.\n\
         \n\
         ./coalesce run            runs the experiments on the first GPU and prints their bandwidths\n\
         ./coalesce run --help     lists the options: experiments, sizes, precision, output\n\
         ./coalesce devices        lists the GPUs\n\
         ./xtask test --gpu        tests the program on the GPU; --no-sanitizer where there is no compute-sanitizer\n\
         ./xtask doctor            lists the driver, GPU and tools that it finds\n\
         ./xtask compare           runs the kernels beside their CUDA C++ twins; needs nvcc\n\
         \n\
         coalesce                  the program; the kernels' PTX is inside it\n\
         xtask                     the test runner: `cargo xtask` of the source tree, here without cargo\n\
         tests/                    the crates' own tests that need a GPU; `./xtask test --gpu` runs them too\n\
         kernels/                  the kernels' PTX to read, one file per architecture; ./coalesce does not need it\n\
         reference/                the CUDA C++ twins' sources\n\
         \n\
         The machine needs: ",
    );
    let _ = write!(text, "Linux on {}", std::env::consts::ARCH);
    if let Some((major, minor)) = glibc {
        let _ = write!(text, " with glibc {major}.{minor} or newer (`ldd --version` tells)");
    }
    text.push_str(
        ", and NVIDIA's driver. No toolkit is\nneeded to run; compute-sanitizer and nvcc, for the tests and for compare, come with CUDA's.\n\nPTX version of each file in kernels/:\n",
    );
    for one in built {
        let _ = writeln!(text, "  {:<14} PTX {}", one.arch, one.isa);
    }
    text
}

/// Number of files and bytes under a folder.
fn measure(folder: &Path) -> Result<(usize, u64)> {
    let mut total = (0, 0);
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        let (files, bytes) = if path.is_dir() {
            measure(&path)?
        } else {
            (1, path.metadata().with_context(|| format!("cannot read {}", path.display()))?.len())
        };
        total = (total.0 + files, total.1 + bytes);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_folders_are_not_overwritten() {
        let folder = std::env::temp_dir().join(format!("xtask-dist-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(refuse_to_overwrite(&folder).is_ok(), "an empty folder");
        assert!(refuse_to_overwrite(&folder.join("new")).is_ok(), "a new one");
        std::fs::write(folder.join("thesis.tex"), "years of work").unwrap();
        let error = refuse_to_overwrite(&folder).unwrap_err().to_string();
        assert!(error.contains("holds files that `dist` did not make"), "{error}");
        let error = format!("{:#}", refuse_to_overwrite(&folder.join("thesis.tex")).unwrap_err());
        assert!(error.contains("is not a folder"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told_with_what_to_do() {
        let error = make_folders(Path::new("/proc/dist.making")).unwrap_err().to_string();
        assert!(error.contains("/proc/dist.making/kernels") && error.contains("--out"), "{error}");
    }

    #[test]
    fn a_missing_strip_is_said_and_a_failing_one_is_an_error() {
        let Stripped::Not(reason) = strip("no-such-strip", &[]).unwrap() else { panic!("there is none") };
        assert!(reason.contains("`no-such-strip`"), "{reason}");
        let error = strip("false", &[]).unwrap_err().to_string();
        assert!(error.starts_with("`false` failed"), "{error}");
    }

    #[test]
    fn the_draft_is_beside_the_folder() {
        assert_eq!(sibling(Path::new("a/dist"), "making").unwrap(), Path::new("a/dist.making"));
        assert!(sibling(Path::new("/"), "making").is_err());
    }

    #[test]
    fn the_glibc_version_is_read_from_the_program() {
        let file = std::env::temp_dir().join(format!("xtask-glibc-{}", std::process::id()));
        std::fs::write(&file, b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0").unwrap();
        assert_eq!(glibc_needed(&file).unwrap(), Some((2, 34)));
        std::fs::remove_file(&file).unwrap();
    }
}
