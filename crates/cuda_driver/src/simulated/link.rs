//! The linker: combines several PTX texts into one, which is the image that it returns.

use std::ffi::{c_char, c_int, c_uint};

use super::codes::{FILE_NOT_FOUND, INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, Outcome};
use super::contexts;
use super::driver::driver;
use super::entry::{In, Out};
use super::images::{self, Image, Options};
use super::linking::link;
use super::objects;
use super::registry::Handle;
use crate::{Code, PtxVersion};

/// The driver API's numbers for kinds of input.
const CUBIN: c_int = 0;
const PTX: c_int = 1;
const FAT_BINARY: c_int = 2;
const OBJECT: c_int = 3;
const LIBRARY: c_int = 4;
const NVVM_IR: c_int = 5;

/// Returns true for NVIDIA's device runtime library. The simulator provides its functions for cooperative groups; calls
/// of others are refused by name when the module is loaded.
fn is_device_runtime(kind: c_int, name: &str) -> bool {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    kind == LIBRARY && file.contains("cudadevrt")
}

/// A linker with its inputs.
pub(super) struct Linker {
    texts: Vec<String>,
    options: Options,
    /// The result, with a NUL at its end; it lives as long as the linker.
    image: Option<Box<[u8]>>,
}

/// Returns the PTX of an input.
fn texts(kind: c_int, bytes: &[u8], name: &str, options: &Options) -> Outcome<Vec<Vec<u8>>> {
    let refuse = |what: &str, reason: &str| {
        let words =
            format!("{what}{name} was given to be linked, and {reason}. The simulated driver links PTX");
        options.error(&words);
        super::say(format_args!(
            "{words}, by itself, in fat binaries, and in objects and libraries of nvcc with fat binaries."
        ));
        Err(INVALID_IMAGE)
    };
    match kind {
        CUBIN => refuse("a cubin", "is machine code"),
        PTX | FAT_BINARY => Ok(vec![Image::of(bytes)?.newest_text().to_vec()]),
        OBJECT => objects::texts(bytes).or_else(|reason| refuse("an object", &reason)),
        LIBRARY => objects::texts(bytes).or_else(|reason| refuse("a library", &reason)),
        NVVM_IR => refuse("LLVM bitcode", "is not PTX yet"),
        _ => Err(INVALID_VALUE),
    }
}

fn add(handle: Handle, kind: c_int, name: &str, bytes: &[u8]) -> Outcome {
    let driver = driver()?;
    let options = driver.state().linkers.get(handle)?.options;
    let name = if name.is_empty() { String::new() } else { format!(" (`{name}`)") };
    let mut found = Vec::new();
    for text in texts(kind, bytes, &name, &options)? {
        // To the linker, text that does not begin as PTX is no image; a module's loader calls it invalid PTX.
        if std::str::from_utf8(&text).ok().and_then(PtxVersion::of).is_none() {
            options.error("the input is not PTX: it has no `.version`");
            return Err(INVALID_IMAGE);
        }
        // Reports errors of each input by itself.
        images::parse(&text, &options)?;
        found.push(String::from_utf8(text).map_err(|_| INVALID_IMAGE)?);
    }
    driver.state().linkers.get_mut(handle)?.texts.append(&mut found);
    Ok(())
}

entry_points! {
    fn cuLinkCreate_v2(count: c_uint, options: In<c_int>, values: Out<usize>, out: Out<Handle>) {
        let current = contexts::current()?;
        out.wanted()?;
        let options = Options::of(count, options, values)?;
        out.set(current.driver.state().linkers.insert(Linker { texts: Vec::new(), options, image: None }))
    }

    fn cuLinkAddData_v2(
        linker: Handle, kind: c_int, data: In<u8>, bytes: usize, name: In<c_char>, _count: c_uint,
        _options: In<c_int>, _values: Out<usize>,
    ) {
        let name = if name.is_null() { String::new() } else { name.text()? };
        if is_device_runtime(kind, &name) {
            return driver()?.state().linkers.get(linker).map(drop);
        }
        add(linker, kind, &name, &data.all(bytes)?)
    }

    fn cuLinkAddFile_v2(
        linker: Handle, kind: c_int, path: In<c_char>, _count: c_uint, _options: In<c_int>, _values: Out<usize>,
    ) {
        let path = path.text()?;
        if is_device_runtime(kind, &path) {
            return driver()?.state().linkers.get(linker).map(drop);
        }
        let bytes = std::fs::read(&path).map_err(|cause| {
            super::say(format_args!("{path} cannot be read: {cause}"));
            FILE_NOT_FOUND
        })?;
        add(linker, kind, &path, &bytes)
    }

    fn cuLinkComplete(linker: Handle, image: Out<*const u8>, bytes: Out<usize>) {
        let driver = driver()?;
        image.wanted()?;
        let (texts, options) = {
            let state = driver.state();
            let linker = state.linkers.get(linker)?;
            (linker.texts.clone(), linker.options)
        };
        let mut linked = link(&texts, &options)?.into_bytes();
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
