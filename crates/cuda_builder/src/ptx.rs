//! PTX text: what is in a file, and one kernel out of it with what it needs.
//!
//! This is no assembler. It splits the text into the statements at module level and knows their names, which is enough to
//! show a single kernel from a file of many.

use std::collections::HashSet;

/// A PTX module, split into its parts.
#[derive(Clone, Debug)]
pub struct Ptx<'a> {
    header: Vec<&'a str>,
    files: Vec<&'a str>,
    items: Vec<Item<'a>>,
}

#[derive(Clone, Debug)]
struct Item<'a> {
    kind: Kind,
    name: &'a str,
    text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Entry,
    Function,
    ExternalFunction,
    Variable,
    Section,
}

impl<'a> Ptx<'a> {
    /// Splits `text`. Text that is not PTX gives a module with little or nothing in it.
    pub fn parse(text: &'a str) -> Self {
        let mut ptx = Self { header: Vec::new(), files: Vec::new(), items: Vec::new() };
        let mut rest = text;
        while let Some(statement) = next_statement(&mut rest) {
            match words(statement).next() {
                Some(".version" | ".target" | ".address_size") => ptx.header.push(statement),
                Some(".file") => ptx.files.push(statement),
                Some(".section") => {
                    let name = words(statement).nth(1).unwrap_or_default();
                    ptx.items.push(Item { kind: Kind::Section, name, text: statement });
                }
                _ => ptx.items.extend(Item::parse(statement)),
            }
        }
        ptx
    }

    /// The architecture in the header, `sm_90a`.
    pub fn target(&self) -> Option<&'a str> {
        self.header_value(".target")?.split(',').next().map(str::trim)
    }

    /// The PTX version in the header, `8.0`.
    pub fn version(&self) -> Option<&'a str> {
        self.header_value(".version")
    }

    fn header_value(&self, directive: &str) -> Option<&'a str> {
        self.header.iter().find_map(|line| line.trim().strip_prefix(directive)).map(str::trim)
    }

    /// Names of the kernels that the module defines, in its order.
    pub fn entries(&self) -> Vec<&'a str> {
        self.items.iter().filter(|item| item.kind == Kind::Entry).map(|item| item.name).collect()
    }

    /// Kernels and functions with their names, in the module's order.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let functions = self.items.iter().filter(|item| matches!(item.kind, Kind::Entry | Kind::Function));
        functions.map(|item| (item.name, item.text))
    }

    /// Names of functions that the module calls and leaves to be found elsewhere.
    pub fn external_functions(&self) -> Vec<String> {
        let defined: HashSet<&str> =
            self.items.iter().filter(|item| item.kind == Kind::Function).map(|item| item.name).collect();
        let externals = self.items.iter().filter(|item| item.kind == Kind::ExternalFunction);
        externals.filter(|item| !defined.contains(item.name)).map(|item| item.name.to_owned()).collect()
    }

    /// A module with one kernel and what it uses, directly and by way of that: header, file names, variables, functions.
    /// `None` if there is no such kernel.
    pub fn extract(&self, entry: &str) -> Option<String> {
        let wanted = self.items.iter().position(|item| item.kind == Kind::Entry && item.name == entry)?;
        let mut taken = HashSet::from([wanted]);
        let mut open = vec![wanted];
        while let Some(at) = open.pop() {
            let used: HashSet<&str> = words(self.items[at].text).collect();
            for (index, item) in self.items.iter().enumerate() {
                let uses = item.kind != Kind::Entry && item.kind != Kind::Section && used.contains(item.name);
                if uses && taken.insert(index) {
                    open.push(index);
                }
            }
        }
        // Names of inlined functions, which lines refer to.
        let has_names =
            taken.iter().any(|&at| words(self.items[at].text).any(|word| word == "function_name"));
        if has_names {
            let is_names = |item: &Item<'_>| item.kind == Kind::Section && item.name == ".debug_str";
            taken.extend(self.items.iter().position(is_names));
        }
        let mut text = self.header.join("\n") + "\n";
        if words(self.items[wanted].text).any(|word| word == ".loc") {
            text += "\n";
            text += &self.files.join("\n");
            text += "\n";
        }
        for (_, item) in self.items.iter().enumerate().filter(|(index, _)| taken.contains(index)) {
            text += "\n";
            text += item.text.trim();
            text += "\n";
        }
        Some(text)
    }
}

impl<'a> Item<'a> {
    fn parse(statement: &'a str) -> Option<Self> {
        let mut words = words(statement);
        let mut external = false;
        let kind = loop {
            match words.next()? {
                ".entry" => break Kind::Entry,
                ".func" if external => break Kind::ExternalFunction,
                // A prototype of a function that is defined further down has no body yet.
                ".func" => break Kind::Function,
                ".extern" => external = true,
                ".global" | ".const" | ".shared" | ".local" => break Kind::Variable,
                _ => {}
            }
        };
        let name = match kind {
            // `.func (.param .b32 result) name (...)`: the name follows the result's parentheses, if there are any.
            Kind::Function | Kind::ExternalFunction => {
                let after = statement.split_once(".func")?.1.trim_start();
                let after = match after.strip_prefix('(') {
                    Some(results) => results.split_once(')')?.1,
                    None => after,
                };
                self::words(after).find(|word| !word.starts_with('.'))?
            }
            Kind::Entry => words.find(|word| !word.starts_with('.'))?,
            // `.global .align 4 .attribute(.managed) .b8 name[16] = {..}`: numbers and bare words in parentheses precede
            // the name, the last word before a bracket, an equals sign or the end.
            Kind::Variable | Kind::Section => {
                let declaration = statement.split(['=', '[', ';']).next()?;
                self::words(declaration).last()?
            }
        };
        Some(Self { kind, name, text: statement })
    }
}

/// Identifiers, directives and numbers of a piece of PTX, without comments and strings.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start_matches(|c: char| !is_word(c) && c != '/' && c != '"');
            if let Some(after) = skip_opaque(rest) {
                rest = after;
                continue;
            }
            if rest.starts_with('/') {
                rest = &rest[1..];
                continue;
            }
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            let (word, after) = rest.split_at(end);
            rest = after;
            return Some(word);
        }
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// The text after a comment or string that `text` begins with.
fn skip_opaque(text: &str) -> Option<&str> {
    if let Some(comment) = text.strip_prefix("//") {
        return Some(comment.find('\n').map_or("", |end| &comment[end..]));
    }
    if let Some(comment) = text.strip_prefix("/*") {
        return Some(comment.find("*/").map_or("", |end| &comment[end + 2..]));
    }
    let string = text.strip_prefix('"')?;
    Some(string.find('"').map_or("", |end| &string[end + 1..]))
}

/// Takes the next statement at module level off `rest`. A statement ends at its semicolon, at the brace that closes a body,
/// or, for the directives that stand on a line of their own, at the end of the line.
fn next_statement<'a>(rest: &mut &'a str) -> Option<&'a str> {
    loop {
        *rest = rest.trim_start();
        match skip_opaque(rest) {
            Some(after) => *rest = after,
            None => break,
        }
    }
    let start = *rest;
    let first = words(start).next()?;
    let by_line = [".version", ".target", ".address_size", ".file", ".loc"].contains(&first);
    let has_body = |text: &str| words(text).any(|word| matches!(word, ".entry" | ".func" | ".section"));
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        let taken = start.len() - at.len();
        if let Some(after) = skip_opaque(at) {
            // The line of a directive may end in a comment, whose line feed is still to come.
            at = after;
            continue;
        }
        let Some(character) = at.chars().next() else {
            *rest = "";
            return Some(start.trim_end());
        };
        at = &at[character.len_utf8()..];
        let upto = &start[..taken + character.len_utf8()];
        let ends = match character {
            '\n' => by_line,
            ';' => depth == 0,
            '{' => {
                depth += 1;
                false
            }
            '}' => {
                depth = depth.saturating_sub(1);
                depth == 0 && has_body(start[..taken].split('{').next().unwrap_or_default())
            }
            _ => false,
        };
        if ends {
            *rest = at;
            return Some(upto.trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"//
// Generated by LLVM NVPTX Back-End
//

.version 7.8
.target sm_90, debug
.address_size 64

	// .globl	first                   // -- Begin function first
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.func helper(.param .b32 a);
.extern .shared .align 16 .b8 __cuda_std_dynamic_shared[];
.shared .align 4 .b8 TILE[4224];
.visible .const .align 4 .f32 COEF[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.visible .global .attribute(.managed) .align 4 .u32 SEEN = 0; // the } in here counts for nothing
.global .align 8 .u64 TABLE[1] = {generic(SEEN)};
                                        // @first
.visible .entry first(
	.param .u64 .ptr .align 1 first_param_0,
	.param .u32 first_param_1
)
.maxntid 256
{
	.reg .b32 	%r<2>;
	.loc	1 10 5
	.loc	1 20 5, function_name $L__info_string0, inlined_at 1 10 5
	{ // callseq
	call.uni helper, (%r1);
	}
	ld.const.b32 	%r1, [COEF+4];
	ret;
}
	// -- End function
.visible .entry second()
{
	st.shared.b32 	[TILE], 0;
	ret;
}
.func helper(.param .b32 a)
{
	.reg .b64 %rd<2>;
	mov.b64 %rd1, TABLE;
	ret;
}
	.file	1 "/home/me/lib.rs"
	.section	.debug_macinfo	{	}
	.section	.debug_str
	{
$L__info_string0:
.b8 104,101,108,112,101,114,0
	}
"#;

    #[test]
    fn what_is_in_a_module() {
        let ptx = Ptx::parse(TEXT);
        assert_eq!(ptx.entries(), ["first", "second"]);
        assert_eq!(ptx.external_functions(), ["vprintf"]);
        assert_eq!(ptx.target(), Some("sm_90"));
        assert_eq!(ptx.version(), Some("7.8"));
        let variables: Vec<&str> =
            ptx.items.iter().filter(|item| item.kind == Kind::Variable).map(|item| item.name).collect();
        assert_eq!(variables, ["__cuda_std_dynamic_shared", "TILE", "COEF", "SEEN", "TABLE"]);
    }

    #[test]
    fn a_kernel_comes_with_what_it_uses_and_nothing_else() {
        let ptx = Ptx::parse(TEXT);
        let first = ptx.extract("first").unwrap();
        assert!(first.starts_with(".version 7.8\n.target sm_90, debug\n.address_size 64\n"), "{first}");
        for kept in [
            "COEF[4] = {0f3F800000",
            ".file\t1",
            "u32 SEEN",
            "TABLE[1]",
            "mov.b64 %rd1, TABLE",
            ".maxntid 256",
            "$L__info_string0:\n.b8 104",
        ] {
            assert!(first.contains(kept), "no {kept} in\n{first}");
        }
        for left in ["second", "TILE", "vprintf", "debug_macinfo", "dynamic_shared", "//"] {
            let left_out = !first.contains(left) || left == "//" && !first.contains("Generated");
            assert!(left_out, "{left} is in\n{first}");
        }
        let second = ptx.extract("second").unwrap();
        assert!(
            second.contains("TILE[4224]") && !second.contains("COEF") && !second.contains(".file"),
            "{second}"
        );
        assert!(!second.contains(".debug_str"), "{second}");
        assert_eq!(Ptx::parse(&second).entries(), ["second"]);
        assert_eq!(ptx.extract("third"), None);
    }

    #[test]
    fn other_text_has_no_kernels() {
        for text in ["", "   ", "hello", "{ } ;", "\"", "/* ", ".entry"] {
            assert_eq!(Ptx::parse(text).entries(), Vec::<&str>::new(), "{text:?}");
        }
    }
}
