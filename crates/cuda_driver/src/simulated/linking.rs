//! Links several PTX texts into one module, by the rules of NVIDIA's linker for names:
//!
//! - A name without linkage is private to its module; if another module has it too, it is renamed.
//! - A definition replaces `.extern` declarations, whatever sizes or parameters these state.
//! - Of `.common` variables of one name the largest stays, unless some module defines the name otherwise.
//! - Of `.weak` definitions the first stays, unless there is a strong one; two strong ones are an error.
//! - A function without a result may be declared and called elsewhere as one with a result: NVIDIA's linker does not
//!   compare prototypes. The result of such a call is undefined.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use simt::ptx::{Function, Initializer, Item, Linkage, LocationId, Module, Operand, Parameter, Variable};

use super::codes::{INVALID_IMAGE, INVALID_VALUE, Outcome};
use super::images::{self, Options};

/// Links the texts and prints the module.
pub(super) fn link(texts: &[String], options: &Options) -> Outcome<String> {
    let [first, others @ ..] = texts else { return Err(INVALID_VALUE) };
    if others.is_empty() && !options.change_code() {
        return Ok(first.clone());
    }
    let parse = |text: &String| images::parse(text.as_bytes(), options);
    let mut modules = texts.iter().map(parse).collect::<Outcome<Vec<Module>>>()?;
    for (index, names) in clashes(&modules).into_iter().enumerate() {
        if !names.is_empty() {
            modules[index] = parse(&rename(&texts[index], &names))?;
        }
    }
    let mut modules = modules.into_iter();
    let mut linked = modules.next().ok_or(INVALID_VALUE)?;
    modules.for_each(|module| append(&mut linked, module));
    return_as_declared(&mut linked.items);
    linked.items = settled(std::mem::take(&mut linked.items)).map_err(|name| {
        let words = format!(
            "Multiple definition of '{name}': two of the linked modules define it, and neither as .weak"
        );
        options.error(&words);
        super::say(format_args!("cuLinkComplete returns CUDA_ERROR_INVALID_IMAGE: {words}"));
        INVALID_IMAGE
    })?;
    Ok(linked.to_string())
}

/// A definition with a name.
enum Named<'a> {
    Function(&'a Function),
    Variable(&'a Variable),
}

impl Named<'_> {
    fn of(item: &Item) -> Option<(&str, Named<'_>)> {
        match item {
            Item::Function(function) => Some((&function.name, Named::Function(function))),
            Item::Variable(variable) => Some((&variable.name, Named::Variable(variable))),
            Item::Alias { .. } | Item::Pragma(_) => None,
        }
    }

    fn linkage(&self) -> Option<Linkage> {
        match self {
            Self::Function(function) => function.linkage,
            Self::Variable(variable) => variable.linkage,
        }
    }

    /// Returns the rank of a definition: the highest stays, of equals the first. 0 for a declaration.
    fn rank(&self) -> u8 {
        match (self, self.linkage()) {
            (Self::Function(function), _) if function.body.is_none() => 0,
            (_, Some(Linkage::Extern)) => 0,
            (_, Some(Linkage::Common)) => 1,
            (_, Some(Linkage::Weak)) => 2,
            _ => 3,
        }
    }
}

/// Returns for each module the private names that another module has too, with their new names.
fn clashes(modules: &[Module]) -> Vec<HashMap<String, String>> {
    let mut users: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (index, module) in modules.iter().enumerate() {
        for (name, _) in module.items.iter().filter_map(Named::of) {
            users.entry(name).or_default().insert(index);
        }
    }
    // The first module with the name keeps it, unless the name is visible elsewhere.
    let is_private = |named: &Named<'_>| named.linkage().is_none();
    let seen: HashSet<&str> = {
        let all = modules.iter().flat_map(|module| &module.items).filter_map(Named::of);
        all.filter(|(_, named)| !is_private(named)).map(|(name, _)| name).collect()
    };
    let renamed = modules.iter().enumerate().map(|(index, module)| {
        let private = module.items.iter().filter_map(Named::of).filter(|(_, named)| is_private(named));
        let clashing = private.filter(|(name, _)| {
            let users = &users[name];
            users.len() > 1 && (seen.contains(name) || users.iter().any(|user| *user < index))
        });
        clashing.map(|(name, _)| (name.to_owned(), format!("{name}_linked{}", index + 1))).collect()
    });
    renamed.collect()
}

/// Renames whole words of a text.
fn rename(text: &str, names: &HashMap<String, String>) -> String {
    let in_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '%');
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(in_word) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|character| !in_word(character)).unwrap_or(from.len()));
        result.push_str(before);
        result.push_str(names.get(word).map_or(word, String::as_str));
        rest = after;
    }
    result + rest
}

/// Appends a module. Source lines keep their positions; names of inlined functions in the second are lost with its
/// debug sections.
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
    linked.items.append(&mut other.items);
}

/// Gives functions without a result the result with which other modules declare and call them; nothing stores it.
fn return_as_declared(items: &mut [Item]) {
    let functions = || {
        items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
    };
    let lacking: HashSet<&str> = functions()
        .filter(|function| function.body.is_some() && function.returns.is_empty())
        .map(|function| &*function.name)
        .collect();
    let mut declared: HashMap<String, Vec<Parameter>> = functions()
        .filter(|function| function.body.is_none() && !function.returns.is_empty())
        .filter(|function| lacking.contains(&*function.name))
        .map(|function| (function.name.to_string(), function.returns.clone()))
        .collect();
    if declared.is_empty() {
        return;
    }
    // A function that is called both ways stays, and is refused when the module is loaded.
    for body in functions().filter_map(|function| function.body.as_ref()) {
        for call in body.instructions.iter().filter_map(|instruction| instruction.call()) {
            if let Operand::Symbol(symbol, _) = call.target
                && call.returns.is_empty()
            {
                declared.remove(&*symbol.name);
            }
        }
    }
    for item in items {
        if let Item::Function(function) = item
            && function.body.is_some()
            && let Some(returns) = declared.get(&*function.name)
        {
            function.returns = returns.clone();
        }
    }
}

/// Keeps one definition of each name, and puts declarations before their uses. Fails with a name that has two
/// definitions.
fn settled(items: Vec<Item>) -> Result<Vec<Item>, String> {
    // For each name, the rank and the index of the definition that stays, or of the declaration if there is no
    // definition.
    let mut stays: HashMap<String, (u8, usize)> = HashMap::new();
    for (place, item) in items.iter().enumerate() {
        let Some((name, named)) = Named::of(item) else { continue };
        let rank = named.rank();
        match stays.entry(name.to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert((rank, place));
            }
            Entry::Occupied(mut entry) => {
                let (known, at) = *entry.get();
                if rank == 3 && known == 3 {
                    return Err(name.to_owned());
                }
                let is_larger = |one: &Item, other: &Item| match (one, other) {
                    (Item::Variable(one), Item::Variable(other)) => {
                        (one.size(), one.alignment()) > (other.size(), other.alignment())
                    }
                    _ => false,
                };
                if rank > known || rank == known && rank < 2 && is_larger(item, &items[at]) {
                    entry.insert((rank, place));
                }
            }
        }
    }
    let initialised = items.iter().filter_map(|item| match item {
        Item::Variable(variable) => variable.initializer.as_ref(),
        _ => None,
    });
    let mut addressed = HashSet::new();
    initialised.for_each(|initializer| addresses(initializer, &mut addressed));
    let (mut declarations, mut variables, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (place, item) in items.into_iter().enumerate() {
        let is_it = Named::of(&item).is_none_or(|(name, _)| stays[name].1 == place);
        match item {
            // A callee may be defined behind its call, and is declared before it then.
            Item::Function(function) if function.body.is_none() => {
                let defined = stays[&*function.name].0 > 0;
                if is_it || !defined {
                    declarations.push(Item::Function(function));
                }
            }
            Item::Function(function) if is_it => {
                let is_entry = function.kind == simt::ptx::FunctionKind::Entry;
                if !is_entry || addressed.contains(&*function.name) {
                    declarations.push(Item::Function(Function { body: None, ..function.clone() }));
                }
                rest.push(Item::Function(function));
            }
            Item::Function(_) => {}
            Item::Variable(variable) if is_it => variables.push(Item::Variable(variable)),
            Item::Variable(_) => {}
            Item::Alias { .. } | Item::Pragma(_) => rest.push(item),
        }
    }
    declarations.append(&mut variables);
    declarations.append(&mut rest);
    Ok(declarations)
}

/// Collects the names whose addresses an initial value contains.
fn addresses(initializer: &Initializer, names: &mut HashSet<String>) {
    match initializer {
        Initializer::List(list) => list.iter().for_each(|element| addresses(element, names)),
        Initializer::Address { name, .. } => {
            names.insert(name.to_string());
        }
        Initializer::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use simt::ptx::Index;

    use super::*;

    fn linked(texts: &[&str]) -> Outcome<Module> {
        let text = |text: &&str| format!(".version 7.0\n.target sm_70\n.address_size 64\n{text}");
        let texts: Vec<String> = texts.iter().map(text).collect();
        let linked = link(&texts, &Options::none())?;
        Ok(simt::ptx::parse(&linked).unwrap_or_else(|error| panic!("{error}\n{linked}")))
    }

    fn variables(module: &Module) -> Vec<(String, Option<u64>)> {
        module.variables().map(|variable| (variable.name.to_string(), variable.size())).collect()
    }

    const SECRET: &str = "{ .reg .b32 %r<3>; ld.global.u32 %r1, [secret]; st.param.b32 [r], %r1; ret; }";

    #[test]
    fn a_declaration_finds_its_definition_and_private_names_stay_apart() {
        let caller = ".global .u32 secret = 1; .extern .func (.param .b32 r) twice(.param .b32 a);
             .visible .entry run() { .reg .b32 %r<3>; ld.global.u32 %r1, [secret]; ret; }";
        let callee =
            format!(".global .u32 secret = 2; .visible .func (.param .b32 r) twice(.param .b32 a)\n{SECRET}");
        let module = linked(&[caller, &callee]).expect("they fit");
        assert!(Index::new(&module).function("twice").expect("it is there").body.is_some());
        assert!(module.entry("run").is_ok());
        assert_eq!(
            variables(&module),
            [("secret".to_owned(), Some(4)), ("secret_linked2".to_owned(), Some(4))]
        );
    }

    #[test]
    fn a_private_name_gives_way_to_one_that_all_see() {
        let own = ".global .u32 secret = 1; .visible .func (.param .b32 r) one()";
        let module =
            linked(&[&format!("{own} {SECRET}"), ".visible .global .u64 secret;"]).expect("they fit");
        assert_eq!(
            variables(&module),
            [("secret_linked1".to_owned(), Some(4)), ("secret".to_owned(), Some(8))]
        );
    }

    #[test]
    fn the_largest_common_variable_stays_unless_one_is_defined() {
        let small = ".common .global .align 4 .b8 table[16];";
        let large = ".common .global .align 8 .b8 table[64];";
        let defined = ".visible .global .align 4 .b8 table[32];";
        let sizes = |texts: &[&str]| variables(&linked(texts).expect("they fit"));
        let table = |bytes| vec![("table".to_owned(), Some(bytes))];
        assert_eq!(sizes(&[small, large, small]), table(64));
        assert_eq!(sizes(&[large, defined, small]), table(32));
        assert_eq!(sizes(&[".extern .global .b8 table[];", small]), table(16));
        assert_eq!(sizes(&[".extern .shared .b8 table[];", ".extern .shared .b8 table[];"]), table(0));
    }

    #[test]
    fn strong_definitions_win_over_weak_ones_and_exclude_each_other() {
        let of = |linkage: &str, value: u32| {
            format!(
                "{linkage} .func (.param .b32 r) f() {{ .reg .b32 %r<2>; mov.b32 %r1, {value}; st.param.b32 [r], %r1; ret; }}"
            )
        };
        let (weak, other, strong) = (of(".weak", 1), of(".weak", 2), of(".visible", 3));
        let value = |texts: &[&str]| {
            let module = linked(texts).expect("they fit");
            let bodies: Vec<_> = module.functions().filter_map(|function| function.body.as_ref()).collect();
            assert_eq!(bodies.len(), 1);
            bodies[0].instructions[0].operands[1].clone()
        };
        assert_eq!(value(&[&weak, &other]), value(&[&weak, &weak]));
        assert_eq!(value(&[&weak, &strong]), value(&[&strong, &other]));
        assert_ne!(value(&[&weak, &strong]), value(&[&weak, &other]));
        assert_eq!(linked(&[&strong, &strong]).err(), Some(INVALID_IMAGE));
    }

    #[test]
    fn a_function_without_results_may_be_declared_with_one() {
        let caller = ".extern .func (.param .b32 out) consume(.param .b32 a);
             .visible .entry run() { .param .b32 given; .param .b32 got; call (got), consume, (given); ret; }";
        let callee = ".visible .func consume(.param .b32 a) { ret; }";
        let returns = |texts: &[&str]| {
            let module = linked(texts).expect("they fit");
            let found =
                module.functions().find(|function| function.body.is_some() && &*function.name == "consume");
            found.expect("it is defined").returns.len()
        };
        assert_eq!(returns(&[caller, callee]), 1);
        // If another call expects no result, the function stays as it is.
        let other = ".extern .func consume(.param .b32 a);
             .visible .entry other() { .param .b32 given; call consume, (given); ret; }";
        assert_eq!(returns(&[caller, callee, other]), 0);
    }

    #[test]
    fn tables_of_functions_of_other_modules() {
        let table = ".extern .func (.param .b32 r) f(); .visible .global .u64 table[1] = {f};";
        let f = ".visible .func (.param .b32 r) f() { ret; }";
        for texts in [[table, f], [f, table]] {
            assert_eq!(variables(&linked(&texts).expect("they fit")), [("table".to_owned(), Some(8))]);
        }
    }

    #[test]
    fn only_whole_words_are_renamed() {
        let names = HashMap::from([("a".to_owned(), "z".to_owned())]);
        assert_eq!(rename("a ab %a [a+4] $a a;", &names), "z ab %a [z+4] $a z;");
    }
}
