//! `doctor`: which compiler, tools, driver and GPU are in use, and what is missing.
//!
//! Looks only: nothing is installed, fetched or built.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use cuda_builder::toolchain;

use crate::layout::Layout;
use crate::tools::{self, Program, Tool};
use crate::{cargo, kernels, process};

/// What one line says.
enum State {
    /// It is there.
    Found(String),
    /// It is not, and something named here does without it or brings it.
    Absent(String),
    /// It is not, and `run` or `test` needs it.
    Missing(String),
}

/// One line of the list.
struct Item {
    name: &'static str,
    state: State,
}

/// Looks at everything and prints what was found. Fails if something that `run` or `test` needs is missing.
pub(crate) fn main() -> Result<u8> {
    let layout = Layout::find()?;
    let mut items = Vec::new();
    let program = match &layout {
        Layout::Checkout { root } => {
            let version = process::succeed(cargo::command(root).arg("--version"));
            let has_cargo = version.is_ok();
            items.push(cargo_itself(version));
            let target = if has_cargo { cargo::target(root)? } else { target_without_cargo(root) };
            items.extend(device_build(root, &target));
            // Without cargo nothing can be said of them.
            if has_cargo {
                items.extend(cargo_tools(root));
            }
            items.push(ptxas(&target));
            items.push(nvdisasm(&target));
            target.join("release").join("coalesce")
        }
        Layout::Folder { folder } => folder.join("coalesce"),
    };
    items.push(optional(Program::Nvcc, "`compare` needs it"));
    items.push(optional(Program::ComputeSanitizer, "`test --gpu` needs it, or --no-sanitizer"));
    items.extend(driver(&program));
    crate::print(&render(&items))?;
    Ok(u8::from(items.iter().any(|item| matches!(item.state, State::Missing(_)))))
}

/// What builds everything here: `version` is what it says of itself.
fn cargo_itself(version: Result<String>) -> Item {
    let state = match version {
        Ok(version) => State::Found(version.trim().to_owned()),
        Err(error) => State::Missing(format!(
            "nothing is built without it: {error:#}. Install Rust with rustup (https://rustup.rs), or put the folder that cargo is in \
             (~/.cargo/bin, mostly) on PATH, or set CARGO to its path"
        )),
    };
    Item { name: "cargo", state }
}

/// Where cargo would build to, as far as that can be told without it.
fn target_without_cargo(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// What turns the kernels into PTX.
fn device_build(root: &Path, target: &Path) -> Vec<Item> {
    let report = toolchain::report(&root.join("gpu-kernels"), &target.join("cuda-builder"));
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let compiler =
        report.version.as_ref().zip(path(&report.rustc)).map(|(version, path)| format!("{version}\n{path}"));
    let source = path(&report.library_source).map(|path| match report.route {
        Some(route) => format!("{path} (route: {route})"),
        None => path,
    });
    let llvm = report.llvm.as_ref().map(|llvm| format!("{}\n{}", llvm.version, llvm.path.display()));
    let found = |(name, text): (&'static str, Option<String>)| {
        text.map(|text| Item { name, state: State::Found(text) })
    };
    let items =
        [("compiler", compiler), ("library source", source), ("libLLVM", llvm)].into_iter().filter_map(found);
    // As long as there is a route and a libLLVM, a build gets by itself what is still missing.
    let possible = report.route.is_some() && report.llvm.is_some();
    let missing = report.missing.iter().map(|text| {
        let state = if possible { State::Absent(text.clone()) } else { State::Missing(text.clone()) };
        Item { name: "kernels to PTX", state }
    });
    items.chain(missing).collect()
}

/// What `test` calls besides the compiler.
fn cargo_tools(root: &Path) -> Vec<Item> {
    [("rustfmt", "fmt"), ("clippy", "clippy")]
        .into_iter()
        .map(|(name, verb)| {
            let version = process::succeed(cargo::command(root).args([verb, "--version"]));
            let state = match version {
                Ok(version) => State::Found(version.trim().to_owned()),
                Err(_) => State::Missing(format!("`test` needs it: `rustup component add {name}`")),
            };
            Item { name, state }
        })
        .collect()
}

/// ptxas, or what fetches it.
fn ptxas(target: &Path) -> Item {
    let kept = tools::fetched_path(Program::Ptxas, target);
    let scratch = target.join("cuda-tools").join("scratch");
    let newest = kernels::ARCHITECTURES[kernels::ARCHITECTURES.len() - 1];
    let suits = |path: &Path| tools::accepts(path, newest, kernels::NEWEST_ISA, &scratch);
    let state = match tools::find(Program::Ptxas, Some(&kept), suits) {
        Ok(tool) => State::Found(describe(&tool)),
        Err(_) if can_fetch() => {
            State::Absent("not here yet; `test` and `sass` fetch it once with pip".to_owned())
        }
        Err(error) => State::Missing(format!(
            "`test` needs it: {error:#}, and python3 has no pip to fetch it with. Set PTXAS, put the bin folder of CUDA 13 on \
             PATH, or install pip"
        )),
    };
    Item { name: "ptxas", state }
}

fn nvdisasm(target: &Path) -> Item {
    let kept = tools::fetched_path(Program::Nvdisasm, target);
    let state = match tools::find(Program::Nvdisasm, Some(&kept), |_| Ok(())) {
        Ok(tool) => State::Found(describe(&tool)),
        Err(_) => State::Absent("not here yet; `sass` fetches it once with pip".to_owned()),
    };
    Item { name: "nvdisasm", state }
}

fn optional(program: Program, who_needs_it: &str) -> Item {
    let state = match tools::find(program, None, |_| Ok(())) {
        Ok(tool) => State::Found(describe(&tool)),
        Err(error) => State::Absent(format!("{who_needs_it}; {error:#}")),
    };
    Item { name: program.name(), state }
}

fn can_fetch() -> bool {
    process::succeed(Command::new("python3").args(["-m", "pip", "--version"])).is_ok()
}

fn describe(tool: &Tool) -> String {
    format!("{} ({})\n{}", tool.version, tool.origin, tool.path.display())
}

/// The driver by itself, and the GPUs as `coalesce` sees them. Without them cards are simulated.
fn driver(program: &Path) -> Vec<Item> {
    let driver = match cuda_driver::bind_nvidia() {
        Ok(nvidia) => State::Found(format!("{}\n{}", nvidia.driver_version, nvidia.path.display())),
        Err(error) => {
            let state = State::Absent(format!(
                "`run` simulates a card instead, and its times are modelled; to measure: {error}"
            ));
            return vec![Item { name: "driver", state }];
        }
    };
    let devices = if program.is_file() {
        match process::succeed(Command::new(program).arg("devices")) {
            Ok(text) => State::Found(gpus(&text).to_owned()),
            Err(error) => State::Missing(format!("{error:#}")),
        }
    } else {
        State::Absent("coalesce is not built yet; `cargo xtask devices` builds it and lists them".to_owned())
    };
    vec![Item { name: "driver", state: driver }, Item { name: "GPUs", state: devices }]
}

/// What `coalesce devices` says of GPUs, without the list of simulated cards, which is below it.
fn gpus(devices: &str) -> &str {
    devices.split("\n\n").next().unwrap_or_default().trim_end()
}

/// A line an item: a mark, the name, and what was found or what to do.
fn render(items: &[Item]) -> String {
    let mut text = String::new();
    for Item { name, state } in items {
        let (mark, what) = match state {
            State::Found(what) => ("✓", what.clone()),
            State::Absent(what) => ("-", format!("absent: {what}")),
            State::Missing(what) => ("✗", format!("MISSING: {what}")),
        };
        for (number, line) in what.lines().enumerate() {
            let (mark, name) = if number == 0 { (mark, *name) } else { ("", "") };
            let _ = writeln!(text, "{mark:1} {name:<18} {line}");
        }
    }
    let missing = items.iter().filter(|item| matches!(item.state, State::Missing(_))).count();
    text.push_str(match missing {
        0 => "\nNothing is missing but what is marked -, which the rest does without.\n",
        _ => "\nWhat is marked ✗ is needed by `run` or `test`.\n",
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &'static str, state: State) -> Item {
        Item { name, state }
    }

    #[test]
    fn a_missing_cargo_is_an_item_with_what_to_do() {
        let version = process::succeed(&mut Command::new("no-such-cargo"));
        let text = render(&[cargo_itself(version)]);
        let first = "✗ cargo              MISSING: nothing is built without it: cannot start no-such-cargo: No such file or \
                     directory (os error 2). Install Rust with rustup";
        assert!(text.starts_with(first), "{text}");
        assert_eq!(text.matches("os error 2").count(), 1, "{text}");
        assert!(text.contains("on PATH"), "{text}");
        let found = render(&[cargo_itself(Ok("cargo 1.95.0\n".into()))]);
        assert!(found.starts_with("✓ cargo              cargo 1.95.0\n"), "{found}");
    }

    #[test]
    fn simulated_cards_are_no_gpus() {
        assert_eq!(
            gpus("driver: d\ncuda:0: a GPU\n\nsimulated cards: ..\n\nsim:c870\n"),
            "driver: d\ncuda:0: a GPU"
        );
        assert_eq!(gpus("no GPU: none\n"), "no GPU: none");
    }

    #[test]
    fn found_absent_and_missing_are_told_apart() {
        let items = [
            item("compiler", State::Found("rustc 1.95.0\n/usr/bin/rustc".into())),
            item("nvcc", State::Absent("`compare` needs it".into())),
            item("libLLVM", State::Missing("put it there".into())),
        ];
        assert_eq!(
            render(&items),
            "✓ compiler           rustc 1.95.0\n                     /usr/bin/rustc\n\
             - nvcc               absent: `compare` needs it\n\
             ✗ libLLVM            MISSING: put it there\n\n\
             What is marked ✗ is needed by `run` or `test`.\n"
        );
        assert!(render(&items[..2]).ends_with("does without.\n"));
    }
}
