//! `test`: everything that must hold before a change is good.
//!
//! Without a GPU: formatting, lints, documentation, the crates' own tests, every kernel on the [simulated] card, and the gate
//! that every kernel's PTX passes ([kernels]). With `--gpu`: the built program on the real device, see [`crate::gpu`].

use std::io::Stdout;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::layout::Layout;
use crate::steps::Steps;
use crate::verbs::book;
use crate::{cargo, elsewhere, generated, gpu, kernels, process, schedulers, simulated, snippets};

/// Arguments of `test`.
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
    let steps = Steps::new(arguments.keep_going);
    if arguments.gpu {
        gpu::run(&layout, &arguments.device, !arguments.no_sanitizer, &steps)?;
    } else {
        let root = layout.root("test")?;
        if arguments.ptx {
            ptx(root, &steps)?;
        } else {
            all(root, arguments.keep_going, &steps)?;
        }
    }
    steps.close()?;
    Ok(0)
}

/// Runs every check that needs no GPU.
///
/// In two lanes where one leaves a core idle: cargo runs test programs one after the other, and many have one thread.
fn all(root: &Path, keep_going: bool, steps: &Steps<Stdout>) -> Result<()> {
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
    let quiet = |mut command: Command| process::succeed(&mut command).map(|_| String::new());

    steps.run("formatting (cargo fmt)", || {
        // The files' names alone: `cargo fmt --all` puts them right.
        quiet(cargo_with("fmt", &["--all", "--check", "--", "--files-with-diff"]))
            .context("`cargo fmt --all` puts these files right")
    })?;
    // The second lane waits for the network more than it computes.
    steps.beside(
        || {
            steps.run("lints (cargo clippy)", || {
                let words = ["--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"];
                quiet(cargo_with("clippy", &words))
            })?;
            steps.run("documentation (cargo doc)", || {
                let mut doc = cargo_with("doc", &["--quiet", "--workspace", "--no-deps"]);
                let _ = doc.env("RUSTDOCFLAGS", "--deny warnings");
                quiet(doc)
            })
        },
        || {
            steps.run("the Python of docs/records.md", || snippets::check(root))?;
            steps.run("the manifests in deploy/", || schedulers::manifests(root))?;
            steps.run("the book builds and its links hold (cargo xtask book)", || book::check(root))
        },
    )?;
    // Stays `None` if the tests do not compile, which is reported by then.
    let mut coalesce = None;
    steps.run("the tests compile (cargo test --no-run)", || {
        coalesce = Some(cargo::tested_program(root, "coalesce")?);
        Ok(String::new())
    })?;
    steps.beside(
        || {
            steps.run_aloud("the crates' tests (cargo test)", || {
                let status = process::pass_through(&mut cargo_with("test", &["--workspace"]))?;
                if !status.success() {
                    bail!("cargo test failed ({status}); its output says what");
                }
                Ok(())
            })
        },
        || {
            ptx(root, steps)?;
            let Some(program) = coalesce else { return Ok(()) };
            steps.run("ranks under a scheduler (deploy/)", || schedulers::mpirun(root, &program))?;
            simulated::run(root, &program, steps)
        },
    )?;
    // These compile in folders of their own, and copy from this one, which is no longer written to.
    steps.beside(
        || {
            // The tests that the GPU has to pass, on the simulated driver. cargo chooses features for all selected packages
            // together; with all others selected too, everything is compiled already. cuda_driver's tests of the same name
            // are for NVIDIA's driver alone.
            steps.run("cuda_std's device tests, on a simulated H200", || {
                let packages = ["--quiet", "--workspace", "--exclude", "cuda_driver", "--test", "gpu"];
                let mut command = cargo_with("test", &[&packages[..], &["--", "--ignored"]].concat());
                let _ = command.env("COALESCE_SIMULATE", "h200");
                quiet(command)
            })
        },
        || {
            steps.run("a generated kernel builds and passes (cargo xtask new-kernel)", || {
                generated::check(root)
            })?;
            steps.run("a project elsewhere builds and runs (cargo xtask new-project)", || {
                elsewhere::check(root)
            })
        },
    )
}

/// Checks the PTX of every kernel.
fn ptx(root: &Path, steps: &Steps<Stdout>) -> Result<()> {
    steps.run("kernels to PTX, all architectures", || {
        let built = kernels::build(root, None)?;
        Ok(built.into_iter().map(|one| one.arch).collect::<Vec<_>>().join(" "))
    })?;
    steps.run("PTX keeps its promises", || kernels::step(root, &["promises"]))?;
    steps.run("PTX is accepted by ptxas", || kernels::step(root, &["assemble"]))
}
