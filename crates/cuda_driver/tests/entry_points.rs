//! The list of entry points against what `cust_raw` declares, and each of them at its symbol.

use std::collections::BTreeSet;
use std::ffi::c_char;

#[macro_use]
#[path = "../src/entry_points.rs"]
mod list;

macro_rules! addresses {
    (cust { $($cust:ident)* } newer { $($newer:ident)* } others { $($other:ident)* }) => {
        /// What the linker put behind each of `cust_raw`'s declarations.
        const CUST: &[(&str, *const ())] = &[$((stringify!($cust), cust_raw::$cust as *const ())),*];

        mod newer {
            unsafe extern "C" {
                $(pub(crate) fn $newer();)*
                $(pub(crate) fn $other();)*
            }
        }

        /// The same of those that `cust_raw` lacks.
        const NEWER: &[(&str, *const ())] = &[$((stringify!($newer), newer::$newer as *const ())),*];

        /// And of those that nothing here calls.
        const OTHERS: &[(&str, *const ())] = &[$((stringify!($other), newer::$other as *const ())),*];
    };
}

for_each_entry_point! { addresses }

#[cfg(target_arch = "x86_64")]
const TARGET: &str = "x86_64-unknown-linux-gnu";
#[cfg(target_arch = "aarch64")]
const TARGET: &str = "aarch64-unknown-linux-gnu";

#[test]
fn the_list_is_what_cust_raw_declares() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        // Only what this target was built from, which is all there already.
        .other_options(["--offline", "--filter-platform", TARGET].map(str::to_owned).to_vec())
        .exec()
        .expect("cargo metadata");
    let cust_raw =
        metadata.packages.iter().find(|package| package.name.as_str() == "cust_raw").expect("cust_raw");
    let source = cust_raw.manifest_path.with_file_name("src").join("cuda.rs");
    let source = std::fs::read_to_string(source).expect("cust_raw's bindings");
    let declared: Vec<&str> = source
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("pub fn cu"))
        .map(|rest| rest.split(['(', '<']).next().unwrap_or(rest))
        .collect();
    let ours: Vec<&str> = cuda_driver::CUST_ENTRY_POINTS.iter().map(|name| &name[2..]).collect();
    assert_eq!(ours, declared);
    assert_eq!(ours.len(), 353);
}

#[test]
fn every_symbol_is_a_stub_of_its_own() {
    let names: Vec<&str> = CUST.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, cuda_driver::CUST_ENTRY_POINTS);
    let newer: Vec<&str> = NEWER.iter().map(|(name, _)| *name).collect();
    assert_eq!(newer, cuda_driver::NEWER_ENTRY_POINTS);

    let others: Vec<&str> = OTHERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(others, cuda_driver::OTHER_ENTRY_POINTS);

    let all = CUST.iter().chain(NEWER).chain(OTHERS);
    let addresses: BTreeSet<_> = all.map(|(_, address)| *address).collect();
    assert_eq!(addresses.len(), CUST.len() + NEWER.len() + OTHERS.len());
    assert!(!addresses.contains(&std::ptr::null()));
}

#[test]
fn without_a_driver_errors_have_their_names() {
    type Describe = unsafe extern "C" fn(i32, *mut *const c_char) -> i32;
    let of =
        |wanted| CUST.iter().find(|(name, _)| *name == wanted).map(|(_, address)| *address).expect(wanted);
    for function in ["cuGetErrorName", "cuGetErrorString"] {
        // SAFETY: the driver API's signature, with the enum as the integer that it is in C.
        let function = unsafe { std::mem::transmute::<*const (), Describe>(of(function)) };
        let mut text = std::ptr::null();
        // SAFETY: the pointer can be written.
        assert_eq!(unsafe { function(700, &raw mut text) }, 0);
        // SAFETY: on success it is a C string that lives forever.
        let text = unsafe { std::ffi::CStr::from_ptr(text) };
        assert_eq!(text, c"CUDA_ERROR_ILLEGAL_ADDRESS");

        let mut text = std::ptr::dangling::<c_char>();
        // SAFETY: the pointer can be written.
        assert_eq!(unsafe { function(123_456, &raw mut text) }, 1, "an unknown code is an invalid value");
        assert!(text.is_null());
    }
}

/// A call through a stub must not depend on what else the linker knows under the name.
#[test]
fn the_binary_needs_no_driver_library() {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    assert!(!maps.contains("libcuda"), "{maps}");
}
