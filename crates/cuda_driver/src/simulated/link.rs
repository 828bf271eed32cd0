//! The linker: several PTX texts become one, which is the image that it hands out.

use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;

use super::codes::{FILE_NOT_FOUND, INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, Outcome};
use super::contexts;
use super::driver::driver;
use super::entry::{In, Out};
use super::images::{self, Image, Options};
use super::linking::link;
use super::registry::Handle;
use crate::{Code, PtxVersion};

/// The driver API's numbers for kinds of input.
const PTX: c_int = 1;
const FAT_BINARY: c_int = 2;
const LIBRARY: c_int = 4;

/// NVIDIA's device runtime library. What the simulator has of it, the functions of cooperative groups, is there without it;
/// any other is refused by name when the module is loaded.
fn is_device_runtime(kind: c_int, name: &str) -> bool {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    kind == LIBRARY && file.contains("cudadevrt")
}

/// What is to be linked.
pub(super) struct Linker {
    texts: Vec<String>,
    options: Options,
    /// The result, with a NUL at its end, for as long as the program may look at it.
    image: Option<Box<[u8]>>,
}

fn add(handle: Handle, kind: c_int, image: impl FnOnce() -> Outcome<Image>) -> Outcome {
    let driver = driver()?;
    let options = driver.state().linkers.get(handle)?.options;
    if !(0..=5).contains(&kind) {
        return Err(INVALID_VALUE);
    }
    let image = image();
    match kind {
        _ if image.as_ref().err() == Some(&FILE_NOT_FOUND) => {}
        PTX | FAT_BINARY => {}
        _ => {
            let what = ["a cubin", "PTX", "a fat binary", "an object", "a library", "NVVM IR"][kind as usize];
            super::say(format_args!(
                "{what} was given to be linked. The simulated driver links PTX, by itself or in fat binaries."
            ));
            return Err(INVALID_IMAGE);
        }
    }
    let text = image?.newest_text().to_vec();
    // What does not even begin as PTX is no image to the linker; a module's loader calls it bad PTX.
    if std::str::from_utf8(&text).ok().and_then(PtxVersion::of).is_none() {
        options.error("the input is no PTX: it has no `.version`");
        return Err(INVALID_IMAGE);
    }
    // Errors are told where they are made.
    images::parse(&text, &options)?;
    let text = String::from_utf8(text).map_err(|_| INVALID_IMAGE)?;
    driver.state().linkers.get_mut(handle)?.texts.push(text);
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
        if !name.is_null() && is_device_runtime(kind, &name.text()?) {
            return driver()?.state().linkers.get(linker).map(drop);
        }
        add(linker, kind, || Image::of(&data.all(bytes)?))
    }

    fn cuLinkAddFile_v2(
        linker: Handle, kind: c_int, path: In<c_char>, _count: c_uint, _options: In<c_int>, _values: Out<usize>,
    ) {
        let path = path.text()?;
        if is_device_runtime(kind, &path) {
            return driver()?.state().linkers.get(linker).map(drop);
        }
        add(linker, kind, || Image::in_file(Path::new(&path)))
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
