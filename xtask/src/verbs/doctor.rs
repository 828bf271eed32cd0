//! `doctor`: which compiler, tools, driver and GPU are in use, and what is missing.
//!
//! Looks only: nothing is installed or fetched, and nothing is built but the program that knows the compiler of kernels.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::layout::Layout;
use crate::{cargo, kernels, process};
use tools::Program;

/// The finding of one line.
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
    name: String,
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
            // Without cargo their state is unknown.
            if has_cargo {
                items.extend(device_build(root));
                items.extend(cargo_tools(root));
            }
            items.push(fetched(Program::Nvdisasm, "sass", &target));
            items.push(fetched(Program::Mdbook, "book", &target));
            target.join("release").join("coalesce")
        }
        Layout::Folder { folder } => folder.join("coalesce"),
    };
    items.push(optional(Program::Nvcc, "`compare` needs it"));
    items.push(optional(Program::ComputeSanitizer, "`test --gpu` needs it, or --no-sanitizer"));
    items.push(driver(&program));
    crate::print(&render(&items))?;
    Ok(u8::from(items.iter().any(|item| matches!(item.state, State::Missing(_)))))
}

/// Reports cargo, which builds everything here; `version` is its own answer.
fn cargo_itself(version: Result<String>) -> Item {
    let state = match version {
        Ok(version) => State::Found(version.trim().to_owned()),
        Err(error) => State::Missing(format!(
            "it builds everything here: {error:#}. Install Rust with rustup (https://rustup.rs), or put cargo's folder (usually \
             ~/.cargo/bin) on PATH, or set CARGO to its path"
        )),
    };
    Item { name: "cargo".to_owned(), state }
}

/// The target folder that cargo would use, as far as that is known without running it.
fn target_without_cargo(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Reports the tools that turn the kernels into PTX and assemble it, as `xtask-ptx` finds them.
fn device_build(root: &Path) -> Vec<Item> {
    let items = kernels::step(root, &["toolchain"]).and_then(|text| text.lines().map(item).collect());
    items.unwrap_or_else(|error: anyhow::Error| {
        let state =
            State::Missing(format!("xtask-ptx, which compiles them, cannot be built or run: {error:#}"));
        vec![Item { name: "kernels to PTX".to_owned(), state }]
    })
}

/// One line of it: an object with `name`, `state` and `text`.
fn item(line: &str) -> Result<Item> {
    let value: Value = serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON"))?;
    let field = |name: &str| {
        value[name].as_str().map(str::to_owned).with_context(|| format!("`{line}` has no {name}"))
    };
    let text = field("text")?;
    let state = match field("state")?.as_str() {
        "found" => State::Found(text),
        "absent" => State::Absent(text),
        "missing" => State::Missing(text),
        other => bail!("`{line}` has an unknown state `{other}`"),
    };
    Ok(Item { name: field("name")?, state })
}

/// Reports the programs that `test` calls besides the compiler.
fn cargo_tools(root: &Path) -> Vec<Item> {
    [("rustfmt", "fmt"), ("clippy", "clippy")]
        .into_iter()
        .map(|(name, verb)| {
            let version = process::succeed(cargo::command(root).args([verb, "--version"]));
            let state = match version {
                Ok(version) => State::Found(version.trim().to_owned()),
                Err(_) => State::Missing(format!("`test` needs it: `rustup component add {name}`")),
            };
            Item { name: name.to_owned(), state }
        })
        .collect()
}

/// A program that a verb fetches when it first needs it.
fn fetched(program: Program, verb: &str, target: &Path) -> Item {
    let kept = tools::fetched_path(program, target);
    let state = match tools::find(program, Some(&kept), |_| Ok(())) {
        Ok(tool) => State::Found(tool.to_string()),
        Err(_) => State::Absent(format!("not fetched yet; `{verb}` fetches it once with pip")),
    };
    Item { name: program.name().to_owned(), state }
}

fn optional(program: Program, who_needs_it: &str) -> Item {
    let state = match tools::find(program, None, |_| Ok(())) {
        Ok(tool) => State::Found(tool.to_string()),
        Err(error) => State::Absent(format!("{who_needs_it}; {error:#}")),
    };
    Item { name: program.name().to_owned(), state }
}

/// The driver and the GPUs as `coalesce` sees them. Without them cards are simulated.
fn driver(program: &Path) -> Item {
    let state = if program.is_file() {
        match process::succeed(Command::new(program).arg("devices")) {
            Ok(text) => gpus(&text),
            Err(error) => State::Missing(format!("{error:#}")),
        }
    } else {
        State::Absent("coalesce is not built yet; `cargo xtask devices` builds it and lists them".to_owned())
    };
    Item { name: "driver and GPUs".to_owned(), state }
}

/// The driver and GPUs that `coalesce devices` lists, without the simulated cards.
fn gpus(devices: &str) -> State {
    let of_gpus = devices.split("\n\n").next().unwrap_or_default().trim_end();
    match of_gpus.strip_prefix("no GPU: ") {
        Some(reason) => State::Absent(format!(
            "`run` simulates a card instead, and its times are modelled; to measure: {reason}"
        )),
        None => State::Found(of_gpus.to_owned()),
    }
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
            let (mark, name) = if number == 0 { (mark, name.as_str()) } else { ("", "") };
            let _ = writeln!(text, "{mark:1} {name:<18} {line}");
        }
    }
    let missing = items.iter().filter(|item| matches!(item.state, State::Missing(_))).count();
    text.push_str(match missing {
        0 => "\nEverything required is present; items marked - are optional.\n",
        _ => "\nItems marked ✗ are missing, and `run` or `test` needs them.\n",
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, state: State) -> Item {
        Item { name: name.to_owned(), state }
    }

    #[test]
    fn a_missing_cargo_is_an_item_with_what_to_do() {
        let version = process::succeed(&mut Command::new("no-such-cargo"));
        let text = render(&[cargo_itself(version)]);
        let first = "✗ cargo              MISSING: it builds everything here: cannot start no-such-cargo: No such file or \
                     directory (os error 2). Install Rust with rustup";
        assert!(text.starts_with(first), "{text}");
        assert_eq!(text.matches("os error 2").count(), 1, "{text}");
        assert!(text.contains("on PATH"), "{text}");
        let found = render(&[cargo_itself(Ok("cargo 1.95.0\n".into()))]);
        assert!(found.starts_with("✓ cargo              cargo 1.95.0\n"), "{found}");
    }

    #[test]
    fn simulated_cards_are_no_gpus() {
        let State::Found(text) = gpus("driver: d\ncuda:0: a GPU\n\nsimulated cards: ..\n\nsim:c870\n") else {
            panic!("there is a GPU")
        };
        assert_eq!(text, "driver: d\ncuda:0: a GPU");
        let State::Absent(text) = gpus("no GPU: no libcuda.so.1\n\nsimulated cards: ..\n") else {
            panic!("there is no GPU")
        };
        assert!(text.ends_with("to measure: no libcuda.so.1"), "{text}");
    }

    #[test]
    fn items_are_read_from_the_program_that_knows_the_compiler() {
        let read = super::item(r#"{"name":"ptxas","state":"absent","text":"not here yet"}"#).unwrap();
        assert!(render(&[read]).starts_with("- ptxas              absent: not here yet\n"));
        for line in ["{}", "ptxas", r#"{"name":"a","state":"lost","text":""}"#] {
            assert!(super::item(line).is_err(), "{line}");
        }
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
             Items marked ✗ are missing, and `run` or `test` needs them.\n"
        );
        assert!(render(&items[..2]).ends_with("are optional.\n"));
    }
}
