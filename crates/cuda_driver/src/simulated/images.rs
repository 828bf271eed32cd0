//! What is loaded as a module: PTX text, told from what only NVIDIA's driver can run; and the just-in-time compiler's
//! options, as far as the simulated one has something to say.

use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;

use simt::ptx;

use super::codes::{INVALID_IMAGE, INVALID_VALUE, NO_BINARY_FOR_GPU, Outcome};
use super::driver::DRIVER_VERSION;
use super::entry::{In, Out};
use crate::{Code, PtxVersion};

/// How files of each kind begin.
const ELF: [u8; 4] = *b"\x7fELF";
const FAT: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
const FAT_WRAPPER: [u8; 4] = [0xb1, 0x43, 0x62, 0x46];
const BITCODE: [[u8; 4]; 2] = [*b"BC\xc0\xde", [0xde, 0xc0, 0x17, 0x0b]];

/// Where the compiler's words go.
#[derive(Clone, Copy)]
pub(super) struct Logs {
    info: Log,
    error: Log,
}

/// A buffer for words, and where to say how much of it was filled.
#[derive(Clone, Copy)]
struct Log {
    buffer: Out<c_char>,
    room: usize,
    filled: Out<usize>,
}

impl Log {
    fn write(&self, text: &str) {
        if !self.buffer.is_null() && self.room > 0 {
            // There is a buffer with room.
            let _ = self.buffer.set_text(text, self.room);
            self.filled.set_if_wanted((text.len() + 1).min(self.room));
        }
    }
}

impl Logs {
    /// Nobody listens.
    pub(super) const fn none() -> Self {
        const NONE: Log = Log { buffer: Out::null(), room: 0, filled: Out::null() };
        Self { info: NONE, error: NONE }
    }

    /// Finds the buffers among the options; the others (optimisation, registers, debug information, ...) change nothing.
    pub(super) fn of(count: c_uint, options: In<c_int>, values: Out<usize>) -> Outcome<Self> {
        let mut logs = Self::none();
        for index in 0..count as usize {
            let (option, place) = (options.at(index)?, values.at(index));
            let value = place.get()?;
            match option {
                3 => logs.info.buffer = Out::at_address(value),
                5 => logs.error.buffer = Out::at_address(value),
                // The room is the value itself, its low half; what was filled is handed out in its place.
                4 => (logs.info.room, logs.info.filled) = (value & u32::MAX as usize, place),
                6 => (logs.error.room, logs.error.filled) = (value & u32::MAX as usize, place),
                _ => {}
            }
        }
        Ok(logs)
    }

    pub(super) fn info(&self, text: &str) {
        self.info.write(text);
    }

    pub(super) fn error(&self, text: &str) {
        self.error.write(text);
    }
}

/// The text of an image in memory, which says itself where it ends.
pub(super) fn text(image: In<u8>) -> Outcome<Vec<u8>> {
    if image.is_null() {
        return Err(INVALID_VALUE);
    }
    let mut start = [0; 4];
    for (index, byte) in start.iter_mut().enumerate() {
        *byte = image.at(index)?;
        if *byte == 0 {
            break;
        }
    }
    refuse_binary(start)?;
    image.until_nul()
}

/// The text of an image of known size; a NUL ends it before.
pub(super) fn text_of(bytes: &[u8]) -> Outcome<Vec<u8>> {
    if let Some(start) = bytes.first_chunk() {
        refuse_binary(*start)?;
    }
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(bytes[..end].to_vec())
}

/// The text of a file.
pub(super) fn text_in(path: &Path) -> Outcome<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(|cause| {
        super::say(format_args!("{} cannot be read: {cause}", path.display()));
        super::codes::FILE_NOT_FOUND
    })?;
    text_of(&bytes)
}

fn refuse_binary(start: [u8; 4]) -> Outcome {
    let (what, code) = match start {
        ELF => ("a cubin, machine code of one GPU", NO_BINARY_FOR_GPU),
        FAT | FAT_WRAPPER => ("a fat binary", NO_BINARY_FOR_GPU),
        start if BITCODE.contains(&start) => ("LLVM bitcode", INVALID_IMAGE),
        _ => return Ok(()),
    };
    super::say(format_args!(
        "a module was given as {what}. The simulated driver runs PTX text: load the .ptx that the compiler makes \
         (nvcc --ptx, or cuda_builder's output)."
    ));
    Err(code)
}

/// Reads PTX; what is wrong with it goes to the error log.
pub(super) fn parse(text: &[u8], logs: &Logs) -> Outcome<ptx::Module> {
    let refuse = |words: String, code: Code| {
        logs.error(&words);
        super::say(format_args!("the PTX was refused: {words}"));
        Err(code)
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return refuse("the text is not UTF-8".to_owned(), INVALID_IMAGE);
    };
    if text.trim().is_empty() {
        return refuse("the text is empty".to_owned(), INVALID_IMAGE);
    }
    // A version that is not known may have a grammar that is not either, so this comes first.
    if let (Some(stated), Some(newest)) = (PtxVersion::of(text), DRIVER_VERSION.newest_ptx())
        && stated > newest
    {
        let words = format!("Unsupported .version {stated}; the simulated driver reads up to {newest}");
        return refuse(words, Code::UNSUPPORTED_PTX_VERSION);
    }
    match ptx::parse(text) {
        Ok(module) => Ok(module),
        Err(error) => refuse(format!("ptx {error}"), Code::INVALID_PTX),
    }
}
