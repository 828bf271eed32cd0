//! The linker: several PTX texts become one, which is the image that it hands out.

use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;

use simt::ptx::{Item, Linkage, LocationId, Module};

use super::codes::{INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, Outcome};
use super::contexts;
use super::driver::driver;
use super::entry::{In, Out};
use super::images::{self, Logs};
use super::registry::Handle;
use crate::{Code, PtxVersion};

/// The driver API's number for PTX among the kinds of input.
const PTX: c_int = 1;

/// What is to be linked.
pub(super) struct Linker {
    texts: Vec<String>,
    logs: Logs,
    /// The result, with a NUL at its end, for as long as the program may look at it.
    image: Option<Box<[u8]>>,
}

fn add(handle: Handle, kind: c_int, text: impl FnOnce() -> Outcome<Vec<u8>>) -> Outcome {
    let driver = driver()?;
    let logs = driver.state().linkers.get(handle)?.logs;
    match kind {
        PTX => {}
        0 | 2..=5 => {
            super::say(format_args!(
                "the simulated driver links PTX alone, not cubins, fat binaries, objects or libraries"
            ));
            return Err(INVALID_IMAGE);
        }
        _ => return Err(INVALID_VALUE),
    }
    let text = text()?;
    // What does not even begin as PTX is no image to the linker; a module's loader calls it bad PTX.
    if std::str::from_utf8(&text).ok().and_then(PtxVersion::of).is_none() {
        logs.error("the input is no PTX: it has no `.version`");
        return Err(INVALID_IMAGE);
    }
    // Errors are told where they are made.
    images::parse(&text, &logs)?;
    let text = String::from_utf8(text).map_err(|_| INVALID_IMAGE)?;
    driver.state().linkers.get_mut(handle)?.texts.push(text);
    Ok(())
}

/// The texts as one module, printed.
fn link(texts: &[String], logs: &Logs) -> Outcome<String> {
    let Some((first, others)) = texts.split_first() else { return Err(INVALID_VALUE) };
    if others.is_empty() {
        return Ok(first.clone());
    }
    let mut linked = images::parse(first.as_bytes(), logs)?;
    for (number, text) in others.iter().enumerate() {
        let mut module = images::parse(text.as_bytes(), logs)?;
        let taken: HashSet<String> = names(&linked, |_| true).collect();
        let private = |linkage: Option<Linkage>| linkage.is_none();
        let mut text = text.clone();
        let mut renamed = false;
        // Names that a module keeps to itself may be those of another.
        for name in names(&module, private).filter(|name| taken.contains(name)) {
            text = rename(&text, &name, &format!("{name}_linked{}", number + 2));
            renamed = true;
        }
        if renamed {
            module = images::parse(text.as_bytes(), logs)?;
        }
        append(&mut linked, module);
    }
    Ok(linked.to_string())
}

fn linkage(item: &Item) -> Option<(&str, Option<Linkage>, bool)> {
    match item {
        Item::Function(function) => Some((&function.name, function.linkage, function.body.is_some())),
        Item::Variable(variable) => {
            Some((&variable.name, variable.linkage, variable.linkage != Some(Linkage::Extern)))
        }
        Item::Alias { .. } | Item::Pragma(_) => None,
    }
}

/// The names of what a module defines or declares, by linkage.
fn names(module: &Module, wanted: impl Fn(Option<Linkage>) -> bool) -> impl Iterator<Item = String> {
    let found = module.items.iter().filter_map(linkage).filter(move |(_, linkage, _)| wanted(*linkage));
    found.map(|(name, ..)| name.to_owned()).collect::<Vec<_>>().into_iter()
}

/// Replaces a name wherever it stands as a whole word.
fn rename(text: &str, name: &str, new: &str) -> String {
    let in_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '%');
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(name) {
        let (before, from) = rest.split_at(place);
        let after = &from[name.len()..];
        let whole = !before.ends_with(in_word) && !after.starts_with(in_word);
        result.push_str(before);
        result.push_str(if whole { new } else { name });
        rest = after;
    }
    result + rest
}

/// Puts a module behind another. Source lines keep their places; names of inlined functions in the second are lost with
/// its debug sections.
fn append(linked: &mut Module, mut other: Module) {
    linked.version = linked.version.max(other.version);
    let files = linked.files.iter().map(|file| file.number).max().unwrap_or(0);
    for mut file in other.files {
        file.number += files;
        linked.files.push(file);
    }
    let locations = linked.locations.len() as u32;
    for mut location in other.locations {
        location.file += files;
        if let Some(inlined) = &mut location.inlined {
            inlined.function = None;
            inlined.at.0 += files;
            inlined.caller = inlined.caller.map(|caller| LocationId(caller.0 + locations));
        }
        linked.locations.push(location);
    }
    for item in &mut other.items {
        if let Item::Function(function) = item
            && let Some(body) = &mut function.body
        {
            for instruction in &mut body.instructions {
                instruction.location =
                    instruction.location.map(|location| LocationId(location.0 + locations));
            }
        }
    }
    let defined: HashSet<String> = {
        let items = linked.items.iter().chain(&other.items).filter_map(linkage);
        items.filter(|(.., defines)| *defines).map(|(name, ..)| name.to_owned()).collect()
    };
    // A variable that another module defines is declared no more. Functions' declarations stay, for what calls them may
    // stand before what they are.
    let kept = |item: &Item| match item {
        Item::Variable(variable) => {
            variable.linkage != Some(Linkage::Extern) || !defined.contains(&*variable.name)
        }
        _ => true,
    };
    let (variables, rest): (Vec<Item>, Vec<Item>) = linked
        .items
        .drain(..)
        .chain(other.items)
        .filter(kept)
        .partition(|item| matches!(item, Item::Variable(_)));
    linked.items = variables.into_iter().chain(rest).collect();
}

entry_points! {
    fn cuLinkCreate_v2(count: c_uint, options: In<c_int>, values: Out<usize>, out: Out<Handle>) {
        let current = contexts::current()?;
        out.wanted()?;
        let logs = Logs::of(count, options, values)?;
        out.set(current.driver.state().linkers.insert(Linker { texts: Vec::new(), logs, image: None }))
    }

    fn cuLinkAddData_v2(
        linker: Handle, kind: c_int, data: In<u8>, bytes: usize, _name: In<c_char>, _count: c_uint,
        _options: In<c_int>, _values: Out<usize>,
    ) {
        add(linker, kind, || images::text_of(&data.all(bytes)?))
    }

    fn cuLinkAddFile_v2(
        linker: Handle, kind: c_int, path: In<c_char>, _count: c_uint, _options: In<c_int>, _values: Out<usize>,
    ) {
        let path = path.text()?;
        add(linker, kind, || images::text_in(Path::new(&path)))
    }

    fn cuLinkComplete(linker: Handle, image: Out<*const u8>, bytes: Out<usize>) {
        let driver = driver()?;
        image.wanted()?;
        let (texts, logs) = {
            let state = driver.state();
            let linker = state.linkers.get(linker)?;
            (linker.texts.clone(), linker.logs)
        };
        let mut linked = link(&texts, &logs)?.into_bytes();
        linked.push(0);
        let mut state = driver.state();
        let linked = state.linkers.get_mut(linker)?.image.insert(linked.into_boxed_slice());
        image.set(linked.as_ptr())?;
        bytes.set_if_wanted(linked.len());
        Ok(())
    }

    fn cuLinkDestroy(linker: Handle) {
        driver()?.state().linkers.remove(linker).map(drop).map_err(|_: Code| INVALID_HANDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

    #[test]
    fn a_declaration_finds_its_definition_and_private_names_stay_apart() {
        let caller = format!(
            "{HEADER}.global .u32 secret = 1;\n.extern .func (.param .b32 r) twice(.param .b32 a);\n\
             .visible .entry run()\n{{\n.reg .b32 %r<3>;\nld.global.u32 %r1, [secret];\nret;\n}}\n"
        );
        let callee = format!(
            "{HEADER}.global .u32 secret = 2;\n.visible .func (.param .b32 r) twice(.param .b32 a)\n\
             {{\n.reg .b32 %r<3>;\nld.global.u32 %r1, [secret];\nst.param.b32 [r], %r1;\nret;\n}}\n"
        );
        let linked = link(&[caller, callee], &Logs::none()).expect("they fit");
        let module = simt::ptx::parse(&linked).expect("PTX again");
        assert!(module.function("twice").expect("it is there").body.is_some());
        assert!(module.entry("run").is_ok());
        let secrets: Vec<_> = module.variables().map(|variable| variable.name.to_string()).collect();
        assert_eq!(secrets, ["secret", "secret_linked2"]);
    }

    #[test]
    fn only_whole_words_are_renamed() {
        assert_eq!(rename("a ab %a [a+4] $a a;", "a", "z"), "z ab %a [z+4] $a z;");
    }
}
