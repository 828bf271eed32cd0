//! Provides the part of NVIDIA's device runtime library that kernels need, as PTX of its own.

use std::collections::HashSet;

use crate::ptx::{self, Function, Item, Module};

const TEXT: &str = include_str!("runtime.ptx");

/// Adds the runtime's functions to a module that declares one of them without defining it.
pub(super) fn add(module: &mut Module) {
    let declared = |name: &str| TEXT.contains(&format!(" {name}("));
    let is_wanted = |function: &Function| function.body.is_none() && declared(&function.name);
    if !module.functions().any(is_wanted) {
        return;
    }
    let runtime = ptx::parse(TEXT).expect("the runtime is PTX");
    let defined: HashSet<String> = {
        let functions = module.functions().filter(|function| function.body.is_some());
        functions.map(|function| function.name.to_string()).collect()
    };
    for item in runtime.items {
        if let Item::Function(mut function) = item
            && !defined.contains(&*function.name)
        {
            nowhere(&mut function);
            module.items.push(Item::Function(function));
        }
    }
}

/// Clears line numbers: the program's own lines count from 1, and these are not among them.
fn nowhere(function: &mut Function) {
    function.position = ptx::Position::default();
    if let Some(body) = &mut function.body {
        body.end = ptx::Position::default();
        body.instructions.iter_mut().for_each(|instruction| instruction.position = ptx::Position::default());
    }
}
