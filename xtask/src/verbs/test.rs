//! `test`: everything that must hold before a change is good.
//!
//! Without a GPU: formatting, lints, documentation, the crates' own tests, every kernel on the [simulated] card, and the gate
//! that every kernel's PTX passes ([kernels]). With `--gpu`: the built program on the real device, see [`crate::gpu`].

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use crate::layout::Layout;
use crate::steps::Steps;
use crate::verbs::book;
use crate::{cargo, elsewhere, generated, gpu, kernels, process, simulated, snippets};

/// What `test` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Run the tests that need a GPU instead of those that don't
    #[arg(long)]
    gpu: bool,
    /// With --gpu: do without NVIDIA's compute-sanitizer
    #[arg(long, requires = "gpu")]
    no_sanitizer: bool,
    /// With --gpu: the device to test on, as `coalesce devices` names it
    #[arg(long, requires = "gpu", value_name = "DEVICE", default_value = "cuda:0")]
    device: String,
    /// Only what concerns the kernels' PTX: a few seconds after a change to a kernel
    #[arg(long, conflicts_with = "gpu")]
    ptx: bool,
    /// Run the steps after a failed one all the same
    #[arg(long)]
    keep_going: bool,
}

/// Runs the steps and shows how they came out.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let layout = Layout::find()?;
    let mut steps = Steps::new(arguments.keep_going);
    if arguments.gpu {
        gpu::run(&layout, &arguments.device, !arguments.no_sanitizer, &mut steps)?;
    } else {
        let root = layout.root("test")?;
        if !arguments.ptx {
            crates(root, arguments.keep_going, &mut steps)?;
            simulated::run(&layout, &mut steps)?;
        }
        ptx(root, &mut steps)?;
    }
    steps.close()?;
    Ok(0)
}

/// What cargo checks and tests.
fn crates(root: &Path, keep_going: bool, steps: &mut Steps<std::io::Stdout>) -> Result<()> {
    let cargo_with = |verb: &str, words: &[&str]| {
        let mut command = cargo::command(root);
        let _ = command.arg(verb);
        if keep_going {
            // Among crates as among steps.
            let _ = match verb {
                "test" => command.arg("--no-fail-fast"),
                "clippy" | "doc" => command.arg("--keep-going"),
                _ => &mut command,
            };
        }
        let _ = command.args(words);
        command
    };
    let quiet = |mut command: Command| move || process::succeed(&mut command).map(|_| String::new());

    steps.run("formatting (cargo fmt)", || {
        // The files' names alone: `cargo fmt --all` puts them right.
        process::succeed(&mut cargo_with("fmt", &["--all", "--check", "--", "--files-with-diff"]))
            .map(|_| String::new())
            .context("`cargo fmt --all` puts these files right")
    })?;
    let clippy =
        cargo_with("clippy", &["--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"]);
    steps.run("lints (cargo clippy)", quiet(clippy))?;
    let mut doc = cargo_with("doc", &["--quiet", "--workspace", "--no-deps"]);
    let _ = doc.env("RUSTDOCFLAGS", "--deny warnings");
    steps.run("documentation (cargo doc)", quiet(doc))?;
    steps.run("the Python of docs/records.md", || snippets::check(root))?;
    steps.run("the book builds and its links hold (cargo xtask book)", || book::check(root))?;
    steps.run_aloud("the crates' tests (cargo test)", || {
        let status = process::pass_through(&mut cargo_with("test", &["--workspace"]))?;
        if !status.success() {
            bail!("cargo test failed ({status}); its output above says what");
        }
        Ok(())
    })?;
    // The tests that the GPU has to pass, on the simulated driver. cargo chooses features for all selected packages
    // together; with all others selected too, everything is compiled already. cuda_driver's tests of the same name are for
    // NVIDIA's driver alone.
    let device_tests = |words: &[&str]| {
        let which = ["--quiet", "--workspace", "--exclude", "cuda_driver", "--test", "gpu"];
        let mut command = cargo_with("test", &[&which, words].concat());
        let _ = command.env("COALESCE_SIMULATE", "h200");
        process::succeed(&mut command).map(|_| String::new())
    };
    // Their many small launches keep one core busy for a minute. They run beside the steps that compile in folders of
    // their own, once this folder is no longer written to: those steps copy from it.
    let built = if steps.goes_on() { device_tests(&["--no-run"]) } else { Err(anyhow!("not run")) };
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| built.and_then(|_| device_tests(&["--", "--ignored"])));
        steps.run("a generated kernel builds and passes (cargo xtask new-kernel)", || {
            generated::check(root)
        })?;
        steps.run("a project elsewhere builds and runs (cargo xtask new-project)", || {
            elsewhere::check(root)
        })?;
        steps.run("cuda_std's device tests, on a simulated H200", || {
            beside.join().unwrap_or_else(|_| bail!("the thread that runs them panicked"))
        })
    })
}

/// What every kernel's PTX must pass.
fn ptx(root: &Path, steps: &mut Steps<std::io::Stdout>) -> Result<()> {
    steps.run("kernels to PTX, all architectures", || {
        let built = kernels::build(root, None)?;
        Ok(built.into_iter().map(|one| one.arch).collect::<Vec<_>>().join(" "))
    })?;
    steps.run("PTX keeps its promises", || kernels::step(root, &["promises"]))?;
    steps.run("PTX is accepted by ptxas", || kernels::step(root, &["assemble"]))
}
