//! Reads module images: finds their PTX and refuses what only NVIDIA's driver can run. Also handles the just-in-time
//! compiler's options.

use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;

use simt::coalescing::ComputeCapability;
use simt::ptx::{self, FunctionDirective, FunctionKind, Item};

use super::codes::{INVALID_IMAGE, INVALID_VALUE, NO_BINARY_FOR_GPU, Outcome};
use super::driver::DRIVER_VERSION;
use super::entry::{In, Out};
use super::fat;
use crate::{Code, PtxVersion};

/// The first bytes of each kind of file.
const ELF: [u8; 4] = *b"\x7fELF";
const BITCODE: [[u8; 4]; 2] = [*b"BC\xc0\xde", [0xde, 0xc0, 0x17, 0x0b]];

/// A module image: its PTX, for each architecture.
pub(super) struct Image {
    /// Texts with the number of their architecture, 0 for plain PTX. Never empty.
    texts: Vec<(u32, Vec<u8>)>,
}

impl Image {
    /// Reads the image at an address, which contains its own length.
    pub(super) fn at(image: In<u8>) -> Outcome<Self> {
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
        match start {
            ELF => Self::of(&image.all(ELF_HEADER_BYTES)?),
            fat::WRAPPER => {
                Self::at(In::at_address(image.byte_offset(fat::WRAPPED_AT).cast::<usize>().get()?))
            }
            fat::CONTAINER => {
                let bytes = fat::container_bytes(&image.all(fat::HEADER_BYTES)?).ok_or(INVALID_IMAGE)?;
                Self::of(&image.all(bytes)?)
            }
            start if BITCODE.contains(&start) => Self::of(&start),
            _ => Self::of(&image.until_nul()?),
        }
    }

    /// Reads the image in these bytes; PTX may end with a NUL before they do.
    pub(super) fn of(bytes: &[u8]) -> Outcome<Self> {
        match bytes.first_chunk().copied().unwrap_or_default() {
            ELF => {
                refuse(
                    &format!("a module was given as {}, without PTX", elf_in_words(bytes)),
                    "Ask the compiler for PTX: `nvcc --ptx`, `nvcc -gencode arch=compute_90,code=compute_90` for a fat \
                     binary, or NVRTC's `--gpu-architecture=compute_90` and nvrtcGetPTX.",
                );
                Err(NO_BINARY_FOR_GPU)
            }
            fat::CONTAINER => Self::fat(bytes),
            start if BITCODE.contains(&start) => {
                refuse("a module was given as LLVM bitcode", "Compile it to PTX first, by libNVVM or `llc`.");
                Err(INVALID_IMAGE)
            }
            _ => {
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                Ok(Self { texts: vec![(0, bytes[..end].to_vec())] })
            }
        }
    }

    fn fat(bytes: &[u8]) -> Outcome<Self> {
        let fat::Contents { texts, machine_code } = fat::read(bytes).map_err(|error| {
            refuse(&error.to_string(), "Make it again with nvcc or fatbinary of CUDA 11 to 13.");
            INVALID_IMAGE
        })?;
        if texts.is_empty() {
            let made_for: Vec<String> = machine_code.iter().map(|number| format!("sm_{number}")).collect();
            let made_for = if made_for.is_empty() { "no GPU".to_owned() } else { made_for.join(", ") };
            refuse(
                &format!("a fat binary has machine code for {made_for}, and no PTX"),
                "Add PTX to it: `nvcc -gencode arch=compute_90,code=compute_90`.",
            );
            return Err(NO_BINARY_FOR_GPU);
        }
        Ok(Self { texts })
    }

    /// Reads the image in a file.
    pub(super) fn in_file(path: &Path) -> Outcome<Self> {
        let bytes = std::fs::read(path).map_err(|cause| {
            super::say(format_args!("{} cannot be read: {cause}", path.display()));
            super::codes::FILE_NOT_FOUND
        })?;
        Self::of(&bytes)
    }

    /// Returns the PTX for a card: that of the newest architecture that is not newer than the card, as in NVIDIA's
    /// driver. If all are newer, the oldest, since the simulated driver accepts any `.target`.
    pub(super) fn text_for(&self, capability: ComputeCapability) -> &[u8] {
        let own = u32::from(capability.major) * 10 + u32::from(capability.minor);
        let fitting =
            self.texts.iter().filter(|(number, _)| *number <= own).max_by_key(|(number, _)| *number);
        let oldest = || self.texts.iter().min_by_key(|(number, _)| *number);
        fitting.or_else(oldest).map_or(&[], |(_, text)| text)
    }

    /// Returns the PTX of the newest architecture, if no card is known.
    pub(super) fn newest_text(&self) -> &[u8] {
        self.texts.iter().max_by_key(|(number, _)| *number).map_or(&[], |(_, text)| text)
    }
}

/// Bytes of an ELF file's header.
const ELF_HEADER_BYTES: usize = 64;

/// Describes an ELF file, such as "a cubin, machine code for sm_90".
fn elf_in_words(bytes: &[u8]) -> String {
    const CUDA: [u8; 2] = 190_u16.to_le_bytes();
    let (Some(machine), Some(flags)) = (bytes.get(18..20), bytes.get(48..52)) else {
        return "the start of an ELF file".to_owned();
    };
    if machine != CUDA {
        return "an ELF file for the host".to_owned();
    }
    // The architecture moved to the second byte with version 8 of the format, which came with CUDA 13.
    let number = if bytes[8] >= 8 { flags[1] } else { flags[0] };
    format!("a cubin, machine code for sm_{number}")
}

/// Prints what is wrong with an image, and what to load instead.
fn refuse(wrong: &str, instead: &str) {
    super::say(format_args!("{wrong}. The simulated driver executes PTX alone. {instead}"));
}

/// Options of the just-in-time compiler: its logs, and the most registers of a thread.
#[derive(Clone, Copy)]
pub(super) struct Options {
    info: Log,
    error: Log,
    most_registers: Option<u32>,
}

/// A buffer for a log, and the address for its length.
#[derive(Clone, Copy)]
struct Log {
    buffer: Out<c_char>,
    room: usize,
    filled: Out<usize>,
}

impl Log {
    fn write(&self, text: &str) {
        if !self.buffer.is_null() && self.room > 0 {
            // A missing buffer is no error here.
            let _ = self.buffer.set_text(text, self.room);
            self.filled.set_if_wanted((text.len() + 1).min(self.room));
        }
    }
}

impl Options {
    /// Returns the default: no logs, no limit.
    pub(super) const fn none() -> Self {
        const NONE: Log = Log { buffer: Out::null(), room: 0, filled: Out::null() };
        Self { info: NONE, error: NONE, most_registers: None }
    }

    /// Reads the logs and the limit among the options; the others (optimisation, debug information, ...) have no
    /// effect.
    pub(super) fn of(count: c_uint, options: In<c_int>, values: Out<usize>) -> Outcome<Self> {
        let mut found = Self::none();
        for index in 0..count as usize {
            let (option, place) = (options.at(index)?, values.at(index));
            let value = place.get()?;
            match option {
                // Like the buffer sizes below, the low half of a pointer.
                0 => found.most_registers = Some(value as u32).filter(|most| *most > 0),
                3 => found.info.buffer = Out::at_address(value),
                5 => found.error.buffer = Out::at_address(value),
                // The size is the value itself, its low half; the length of the log replaces it.
                4 => (found.info.room, found.info.filled) = (value & u32::MAX as usize, place),
                6 => (found.error.room, found.error.filled) = (value & u32::MAX as usize, place),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns the same options without logs, for use when the buffers may be gone.
    pub(super) fn silent(&self) -> Self {
        Self { most_registers: self.most_registers, ..Self::none() }
    }

    /// Returns true if the compiler must change the code.
    pub(super) fn change_code(&self) -> bool {
        self.most_registers.is_some()
    }

    /// Limits the registers of kernels that do not limit them themselves.
    fn limit_registers(&self, module: &mut ptx::Module) {
        let Some(most) = self.most_registers else { return };
        for item in &mut module.items {
            if let Item::Function(function) = item
                && function.kind == FunctionKind::Entry
                && function.directive("maxnreg").is_none()
            {
                function.directives.push(FunctionDirective::Numbers { name: "maxnreg", values: vec![most] });
            }
        }
    }

    pub(super) fn info(&self, text: &str) {
        self.info.write(text);
    }

    pub(super) fn error(&self, text: &str) {
        self.error.write(text);
    }
}

/// Parses PTX; errors go to the error log. The options' limit of registers becomes `.maxnreg`.
pub(super) fn parse(text: &[u8], options: &Options) -> Outcome<ptx::Module> {
    let refused = |words: String, code: Code| {
        options.error(&words);
        super::say(format_args!("the PTX was refused: {words}"));
        Err(code)
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return refused("the text is not UTF-8".to_owned(), INVALID_IMAGE);
    };
    if text.trim().is_empty() {
        return refused("the text is empty".to_owned(), INVALID_IMAGE);
    }
    // An unknown version may have an unknown grammar, so the version is checked first.
    if let (Some(stated), Some(newest)) = (PtxVersion::of(text), DRIVER_VERSION.newest_ptx())
        && stated > newest
    {
        let words = format!("Unsupported .version {stated}; the simulated driver reads up to {newest}");
        return refused(words, Code::UNSUPPORTED_PTX_VERSION);
    }
    match ptx::parse(text) {
        Ok(mut module) => {
            options.limit_registers(&mut module);
            Ok(module)
        }
        Err(error) => refused(format!("ptx {error}"), Code::INVALID_PTX),
    }
}
