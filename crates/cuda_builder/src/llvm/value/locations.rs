//! Source positions of instructions.

use std::ffi::{c_char, c_uint};
use std::{iter, ptr};

use super::Value;
use crate::llvm::api::Raw;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The linker's name of the function around the position, or its plain name; empty if the module has none.
    pub(crate) function: String,
}

/// LLVM's debug location, the same one for all instructions with the same position and call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Location(Raw);

/// Numbers of LLVM's kinds of metadata.
const SUBPROGRAM: c_uint = 17;
const LEXICAL_BLOCK: c_uint = 18;
const LEXICAL_BLOCK_FILE: c_uint = 19;

/// Indices of scope, name and linker's name among a subprogram's operands; a block has its scope at the same index.
const SCOPE: usize = 1;
const NAME: usize = 2;
const LINKAGE_NAME: usize = 3;

/// Locations of instructions.
impl Value<'_> {
    /// The source positions of the instruction, from the innermost inlined function outwards. Empty if the module has
    /// no line information.
    pub(crate) fn positions(self) -> Vec<Position> {
        self.locations().filter_map(|location| self.position(location)).collect()
    }

    /// The instruction's location, if it is in a function that was inlined, and has a line.
    pub(crate) fn inlined_location(self) -> Option<Location> {
        let functions = self.functions();
        let location = self.locations().next()?;
        // SAFETY: the location is live.
        let (at, line) = unsafe {
            ((functions.LLVMDILocationGetInlinedAt)(location), (functions.LLVMDILocationGetLine)(location))
        };
        (!at.is_null() && line > 0).then_some(Location(location))
    }

    /// Gives the instruction a location that differs from its own by the line alone.
    pub(crate) fn set_line(self, line: u32) {
        let functions = self.functions();
        let Some(location) = self.locations().next() else { return };
        // SAFETY: instruction and location are live and of this context.
        unsafe {
            let new = (functions.LLVMDIBuilderCreateDebugLocation)(
                self.context.raw,
                line,
                (functions.LLVMDILocationGetColumn)(location),
                (functions.LLVMDILocationGetScope)(location),
                (functions.LLVMDILocationGetInlinedAt)(location),
            );
            (functions.LLVMInstructionSetDebugLoc)(self.raw, new);
        }
    }

    /// The location, and those of the calls that were inlined around it.
    fn locations(self) -> impl Iterator<Item = Raw> {
        let functions = self.functions();
        // SAFETY: the value is a live instruction.
        let innermost = unsafe { (functions.LLVMInstructionGetDebugLoc)(self.raw) };
        iter::successors((!innermost.is_null()).then_some(innermost), |&at| {
            // SAFETY: `at` is a live location.
            let at = unsafe { (functions.LLVMDILocationGetInlinedAt)(at) };
            (!at.is_null()).then_some(at)
        })
    }

    fn position(self, location: Raw) -> Option<Position> {
        type Text = unsafe extern "C" fn(Raw, *mut c_uint) -> *const c_char;
        let functions = self.functions();
        // SAFETY: the location is live; its scope and file are checked for null before use.
        unsafe {
            let scope = (functions.LLVMDILocationGetScope)(location);
            let file = if scope.is_null() { ptr::null_mut() } else { (functions.LLVMDIScopeGetFile)(scope) };
            if file.is_null() {
                return None;
            }
            let text = |get: Text| bytes_of(|length| get(file, length));
            let (name, directory) =
                (text(functions.LLVMDIFileGetFilename), text(functions.LLVMDIFileGetDirectory));
            let file = if name.starts_with('/') || directory.is_empty() {
                name
            } else {
                format!("{directory}/{name}")
            };
            Some(Position {
                file,
                line: (functions.LLVMDILocationGetLine)(location),
                column: (functions.LLVMDILocationGetColumn)(location),
                function: self.function_of(scope),
            })
        }
    }

    /// The name of the function that a scope is in.
    fn function_of(self, mut scope: Raw) -> String {
        let functions = self.functions();
        loop {
            // SAFETY: `scope` is live metadata.
            let kind = unsafe { (functions.LLVMGetMetadataKind)(scope) };
            let operands = match kind {
                SUBPROGRAM | LEXICAL_BLOCK | LEXICAL_BLOCK_FILE => self.metadata_operands(scope),
                _ => return String::new(),
            };
            let operand = |place: usize| operands.get(place).copied().filter(|operand| !operand.is_null());
            if kind != SUBPROGRAM {
                // SAFETY: the scope of a block is metadata wrapped as a value.
                match operand(SCOPE).map(|value| unsafe { (functions.LLVMValueAsMetadata)(value) }) {
                    Some(outer) => scope = outer,
                    None => return String::new(),
                }
                continue;
            }
            let names = [LINKAGE_NAME, NAME].into_iter().filter_map(operand);
            // SAFETY: names are strings, of which LLVM returns that many bytes; null for anything else.
            let mut names =
                names.map(|name| bytes_of(|length| unsafe { (functions.LLVMGetMDString)(name, length) }));
            return names.find(|name| !name.is_empty()).unwrap_or_default();
        }
    }

    /// Operands of a metadata node, as values; null for those that are not there.
    fn metadata_operands(self, node: Raw) -> Vec<Raw> {
        let functions = self.functions();
        // SAFETY: the node is live, and LLVM fills as many entries as it reports.
        unsafe {
            let node = (functions.LLVMMetadataAsValue)(self.context.raw, node);
            let mut operands = vec![ptr::null_mut(); (functions.LLVMGetMDNodeNumOperands)(node) as usize];
            (functions.LLVMGetMDNodeOperands)(node, operands.as_mut_ptr());
            operands
        }
    }
}

/// Text that LLVM gives by its start and its length; empty where the start is null.
fn bytes_of(get: impl FnOnce(*mut c_uint) -> *const c_char) -> String {
    let mut length = 0;
    let start = get(&mut length);
    if start.is_null() {
        return String::new();
    }
    // SAFETY: LLVM gave the start of `length` bytes, which live as long as the context.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length as usize) };
    String::from_utf8_lossy(bytes).into_owned()
}
