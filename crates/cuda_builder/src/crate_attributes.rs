//! Finds the attributes that a kernel crate lacks: `#![no_std]`, and the feature gates that `#[kernel]` needs.
//!
//! Kernel crates written for Rust-CUDA have neither, since its compiler adds them; others have them. rustc takes attributes on the
//! command line, but refuses a feature gate that is given twice and warns about a second `no_std`. So the roots of
//! the crates are looked at first. Dependencies over `cuda_std` are kernel crates too and get the same, by way of
//! profiles' `rustflags`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId, TargetKind};

use crate::CudaBuilderError;
use crate::environment;

/// Feature gates of what `#[kernel]` and inline PTX need.
const GATES: [&str; 2] = ["abi_ptx", "asm_experimental_arch"];

/// The attributes to give on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// For the kernel crate alone.
    pub(crate) kernel_crate: Vec<String>,
    /// For dependencies over `cuda_std`: the package, as `name@version`, and its attributes.
    pub(crate) dependencies: Vec<(String, Vec<String>)>,
    /// True if a dependency needs `no_std`, which all crates then get.
    pub(crate) no_std_everywhere: bool,
}

/// Asks cargo for the metadata of the crate and its dependencies.
pub(crate) fn metadata(
    cargo: &Path,
    krate: &Path,
    arguments: &[String],
) -> Result<Metadata, CudaBuilderError> {
    let mut command = Command::new(cargo);
    environment::clean(&mut command);
    // The only variable of the outer build that names a location instead of a setting.
    if let Some(folder) = std::env::var_os("CARGO_TARGET_DIR") {
        command.env("CARGO_TARGET_DIR", folder);
    }
    let output = command
        .args(["metadata", "--format-version", "1", "--filter-platform", "nvptx64-nvidia-cuda"])
        .args(selecting_features(arguments))
        .current_dir(krate)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| CudaBuilderError::CompilerNotRun {
            program: cargo.to_owned(),
            variable: "CARGO",
            source,
        })?;
    // cargo has reported the manifest's error on stderr.
    let text = if output.status.success() { String::from_utf8(output.stdout).ok() } else { None };
    text.and_then(|text| MetadataCommand::parse(text).ok()).ok_or(CudaBuilderError::BuildFailed)
}

/// Those of the user's arguments that decide which dependencies there are.
fn selecting_features(arguments: &[String]) -> Vec<&String> {
    let mut selected = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let alone = ["--all-features", "--no-default-features", "--offline", "--locked", "--frozen"];
        if alone.contains(&argument.as_str()) || argument.starts_with("--features=") {
            selected.push(argument);
        } else if argument == "--features" || argument == "-F" {
            selected.push(argument);
            selected.extend(arguments.next());
        }
    }
    selected
}

/// Looks at the crate whose manifest is at `manifest`, and at what it depends on.
pub(crate) fn missing(metadata: &Metadata, manifest: &Path) -> Attributes {
    let manifest = manifest.canonicalize().unwrap_or_else(|_| manifest.to_owned());
    let is_ours = |package: &&Package| {
        let path = package.manifest_path.as_std_path();
        path.canonicalize().unwrap_or_else(|_| path.to_owned()) == manifest
    };
    let Some(package) = metadata.packages.iter().find(is_ours) else { return Attributes::default() };
    let source = library_root(package).map(|root| read(&root)).unwrap_or_default();
    let attributes = inner_attributes(&source);
    let mut kernel_crate = missing_gates(&attributes);
    let mut no_std_everywhere = false;
    let mut dependencies = Vec::new();
    for id in on_device(metadata, &package.id) {
        let dependency = &metadata[id];
        let Some(root) = library_root(dependency).filter(|_| id != &package.id) else { continue };
        let source = read(&root);
        let attributes = inner_attributes(&source);
        let mut missing = Vec::new();
        if dependency.dependencies.iter().any(|used| used.name == "cuda_std") {
            missing = missing_gates(&attributes);
            if !mentions(&attributes, "no_std") {
                missing.push(String::from("no_std"));
            }
        } else {
            no_std_everywhere |= !mentions(&attributes, "no_std");
        }
        if !missing.is_empty() {
            dependencies.push((format!("{}@{}", dependency.name, dependency.version), missing));
        }
    }
    dependencies.sort();
    if no_std_everywhere {
        dependencies.iter_mut().for_each(|(_, missing)| missing.retain(|attribute| attribute != "no_std"));
    } else if !mentions(&attributes, "no_std") {
        kernel_crate.push(String::from("no_std"));
    }
    Attributes { kernel_crate, dependencies, no_std_everywhere }
}

/// The feature gates that a kernel crate with these attributes does not have.
fn missing_gates(attributes: &[&str]) -> Vec<String> {
    let gates: Vec<&str> = GATES.into_iter().filter(|gate| !mentions(attributes, gate)).collect();
    if gates.is_empty() { Vec::new() } else { vec![format!("feature({})", gates.join(","))] }
}

/// The file and line of `register_attr` in the kernel crate or one of its dependencies by path.
///
/// Crates for Rust-CUDA's first compiler begin with it; rustc has removed it since.
pub(crate) fn register_attr(metadata: &Metadata) -> Option<String> {
    let by_path = metadata.packages.iter().filter(|package| package.source.is_none());
    by_path.filter_map(library_root).find_map(|root| {
        let source = read(&root);
        let has = mentions(&inner_attributes(&source), "register_attr");
        let line = source.lines().position(|line| line.contains("register_attr")).filter(|_| has)?;
        Some(format!("{}:{}", root.display(), line + 1))
    })
}

/// The package and everything that is compiled for the device along with it: no build dependencies, no procedural macros.
fn on_device<'a>(metadata: &'a Metadata, package: &'a PackageId) -> HashSet<&'a PackageId> {
    let nodes = metadata.resolve.as_ref().map(|resolve| resolve.nodes.as_slice()).unwrap_or_default();
    let mut found = HashSet::new();
    let mut open = vec![package];
    while let Some(package) = open.pop() {
        let is_macro =
            metadata[package].targets.iter().any(|target| target.kind.contains(&TargetKind::ProcMacro));
        if is_macro || !found.insert(package) {
            continue;
        }
        let dependencies = nodes.iter().filter(|node| node.id == *package).flat_map(|node| &node.deps);
        open.extend(
            dependencies
                .filter(|dependency| {
                    dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
                })
                .map(|dependency| &dependency.pkg),
        );
    }
    found
}

fn library_root(package: &Package) -> Option<PathBuf> {
    let library =
        [TargetKind::Lib, TargetKind::RLib, TargetKind::CDyLib, TargetKind::DyLib, TargetKind::StaticLib];
    let target =
        package.targets.iter().find(|target| target.kind.iter().any(|kind| library.contains(kind)))?;
    Some(target.src_path.clone().into_std_path_buf())
}

fn read(root: &Path) -> String {
    std::fs::read_to_string(root).unwrap_or_default()
}

/// Whether an attribute has this word in it, by itself or inside a `cfg_attr`.
fn mentions(attributes: &[&str], word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    attributes.iter().any(|attribute| attribute.split(|c| !is_word(c)).any(|part| part == word))
}

/// The `#![..]` at the top of a crate's root, without their brackets.
fn inner_attributes(source: &str) -> Vec<&str> {
    let mut attributes = Vec::new();
    let mut rest = source.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = after_block_comment(comment);
        } else if let Some(attribute) = rest.strip_prefix("#![") {
            let end = closing_bracket(attribute);
            attributes.push(&attribute[..end]);
            rest = attribute.get(end + 1..).unwrap_or_default();
        } else {
            return attributes;
        }
    }
}

/// Block comments nest.
fn after_block_comment(text: &str) -> &str {
    let mut depth = 1;
    let mut rest = text;
    while depth > 0 {
        let Some(at) = rest.find("*/") else { return "" };
        depth = depth - 1 + rest[..at].matches("/*").count();
        rest = &rest[at + 2..];
    }
    rest
}

/// The position of the bracket's closing partner, skipping strings.
fn closing_bracket(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '[' if !in_string => depth += 1,
            ']' if !in_string && depth == 0 => return at,
            ']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_attributes_stand_at_the_top() {
        let source = "\u{feff}// no_std in a comment\n//! #![no_std] in a doc\n/* a /* nested */ #![no_core] */\n#![no_std]\n\
                      #![doc = \"with ] and \\\" in it\"]\n#![cfg_attr(target_arch = \"nvptx64\", feature(abi_ptx))]\n\
                      use core::mem;\n#![feature(late)]\n";
        let attributes = inner_attributes(source);
        assert_eq!(attributes.len(), 3, "{attributes:?}");
        assert!(mentions(&attributes, "no_std"));
        assert!(mentions(&attributes, "abi_ptx"));
        for word in ["no_core", "late", "abi", "std"] {
            assert!(!mentions(&attributes, word), "{word}");
        }
    }

    #[test]
    fn a_source_without_attributes_has_none() {
        for source in ["", "fn main() {}", "/* open", "#![", "// only a comment"] {
            assert!(!mentions(&inner_attributes(source), "no_std"), "{source:?}");
        }
    }

    #[test]
    fn arguments_that_decide_on_dependencies_are_passed_on() {
        let given =
            ["--features", "a,b", "--verbose", "--no-default-features", "-F", "c", "--features=d", "-j1"];
        let given = given.map(String::from);
        let selected = selecting_features(&given);
        assert_eq!(selected, ["--features", "a,b", "--no-default-features", "-F", "c", "--features=d"]);
    }
}
