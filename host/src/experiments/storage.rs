//! `storage`: where a variable can live, one kernel for each place. The kernels, and who sees which variable for how long, are in
//! gpu-kernels' `storage.rs`; what each became is read from the PTX that the program carries.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Precision, Request, Shape, Symbol,
    Work, articles, covering, findings,
};
use crate::{
    device::DeviceInfo,
    instructions::{self, Text},
    verify::Expected,
};
use anyhow::{Result, bail};
use cuda_launch::{Kernel, Slice, SliceMut};
use cust::memory::bytemuck;
use gpu_kernels::{
    storage::{
        LENGTH, OWN, STORAGE_CONSTANT, storage_constant, storage_local, storage_shared_dynamic,
        storage_shared_static,
    },
    unchecked::storage::{storage_global, storage_managed},
};
use pattern::SEED;
use record::{Parameters, Record};
use report::{Article, Picture};

/// A variable in each state space.
pub(super) struct Storage;

/// Bytes of such an array.
const BYTES: u64 = LENGTH as u64 * 4;

/// The value that the host writes to the constant, different from its initial value.
const FACTORS: [f32; 4] = [3.0, 0.5, -7.0, 12.0];

/// A kernel, the storage class that it shows, and what the host can do with the variable by its name.
struct Class {
    kernel: KernelInfo,
    name: &'static str,
    host: &'static str,
    make: fn() -> Point,
}

const fn class<K: Kernel>(name: &'static str, host: &'static str, make: fn() -> Point) -> Class {
    Class { kernel: KernelInfo::of::<K>(), name, host, make }
}

/// The classes, in the order of the language's manuals.
const CLASSES: [Class; 6] = [
    class::<storage_global>("device global", "copies it", || counting::<storage_global>("STORAGE_GLOBAL")),
    class::<storage_shared_static>("static shared", "cannot", turned_round::<storage_shared_static>),
    class::<storage_shared_dynamic>("dynamic shared", "cannot", turned_round::<storage_shared_dynamic>),
    class::<storage_constant>("constant", "copies it", constant),
    class::<storage_local>("local", "cannot", local),
    class::<storage_managed>("managed", "touches it", || counting::<storage_managed>("STORAGE_MANAGED")),
];

impl Experiment for Storage {
    fn name(&self) -> &'static str {
        "storage"
    }

    fn summary(&self) -> &'static str {
        "one variable per kernel: the memory it lives in and the PTX that reaches it"
    }

    fn reading(&self) -> &'static str {
        "A variable's declaration decides its memory, the instruction that reaches it, who sees it and what an access costs. \
         Each launch is one block, so its time is that of starting a kernel."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_4, articles::MASSIVELY_PARALLEL]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &[] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::storage::storage
    }

    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        CLASSES.iter().map(|class| class.kernel).collect()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let wanted: Vec<&Class> = CLASSES.iter().filter(|class| request.wants(class.kernel.name)).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        // Whether the device takes such a block.
        covering(LENGTH as u64, LENGTH as u32, device)?;
        let text = Text::of(device)?;
        wanted.into_iter().map(|class| described(class, &text)).collect()
    }
}

/// The point of a class, with what its PTX says.
fn described(class: &Class, text: &Text) -> Result<Point> {
    let found = text.storage(class.kernel.name)?;
    let [storage] = &found[..] else {
        bail!(
            "{} must use one variable, and its PTX for compute_{} uses {}",
            class.kernel.name,
            text.arch,
            found.len(),
        );
    };
    let point = (class.make)();
    Ok(Point { parameters: with_storage(point.parameters, class, storage), ..point })
}

/// With the class, and the state space, size and instructions that the PTX has.
fn with_storage(parameters: Parameters, class: &Class, storage: &instructions::Storage) -> Parameters {
    let parameters = parameters
        .with("class", class.name)
        .with("space", storage.space)
        .with("loads", storage.loads.join(" "))
        .with("stores", storage.stores.join(" "))
        .with("host_access", class.host);
    // What the launch decides has no size in the PTX, and what the kernel keeps to itself no name of the user's.
    let parameters = match storage.bytes {
        Some(bytes) => parameters.with("variable_bytes", bytes),
        None => parameters,
    };
    match storage.name.starts_with('_') {
        true => parameters,
        false => parameters.with("variable", storage.name.as_str()),
    }
}

/// A launch of one block that reads `read` bytes and writes an array of them.
fn point(read: u64, footprint: u64, work: Work) -> Point {
    let point = Point::new(Storage.name(), Shape::linear(1, LENGTH as u32), work);
    Point {
        parameters: Parameters {
            bytes: BYTES,
            elements: LENGTH as u64,
            precision: Some(Precision::F32),
            ..point.parameters
        },
        bytes: BytesMoved { read, written: BYTES, footprint },
        ..point
    }
}

/// A kernel that adds 2 to each element of a variable of this name, which the host writes before and reads after it.
fn counting<K: for<'a> Kernel<Arguments<'a> = ()>>(variable: &'static str) -> Point {
    let values = after(0);
    Point {
        symbols: vec![Symbol { name: variable, bytes: bytemuck::cast_slice(&values).to_vec() }],
        symbols_after: vec![(
            variable,
            Expected::exactly(|first, launches, window: &mut [f32]| {
                window.copy_from_slice(&after(launches)[first as usize..][..window.len()]);
            }),
        )],
        ..point(BYTES, BYTES, Work::kernel::<K>(|_| ()))
    }
}

/// The variable's elements after n launches. All are even, so they are exact up to 2^25, which the launches of a run do not reach.
fn after(launches: u64) -> [f32; LENGTH] {
    std::array::from_fn(|index| {
        2.0 * (f64::from(pattern::value(index as u64, SEED)) + launches as f64) as f32
    })
}

/// `destination[i] = source[255 - i]` by way of an array in shared memory.
fn turned_round<K>() -> Point
where
    K: for<'a> Kernel<Arguments<'a> = (Slice<'a, f32>, SliceMut<'a, f32>)>,
{
    let element = |index: u64| source(LENGTH as u64 - 1 - index);
    Point { buffers: arrays(element), ..point(BYTES, 2 * BYTES, from_source::<K>()) }
}

/// `destination[i] = source[i] * variable[i % 4]`.
fn constant() -> Point {
    let written = bytemuck::cast_slice(&FACTORS).to_vec();
    let read = BYTES + written.len() as u64;
    Point {
        buffers: arrays(|index| source(index) * FACTORS[index as usize % FACTORS.len()]),
        symbols: vec![Symbol { name: STORAGE_CONSTANT.name(), bytes: written }],
        symbols_after: vec![(
            STORAGE_CONSTANT.name(),
            Expected::exactly(|first, _, window: &mut [f32]| {
                window.copy_from_slice(&FACTORS[first as usize..][..window.len()]);
            }),
        )],
        ..point(read, 2 * BYTES, from_source::<storage_constant>())
    }
}

/// `destination[i]`: how many of the elements of thread `i`'s warp are as `source[i]` is, modulo 16.
fn local() -> Point {
    let kind = |index: u64| source(index) as usize % OWN;
    let counted = move |index: u64| {
        let first = index / 32 * 32;
        (first..first + 32).filter(|&nth| kind(nth) == kind(index)).count() as f32
    };
    Point { buffers: arrays(counted), ..point(BYTES, 2 * BYTES, from_source::<storage_local>()) }
}

/// An element of the source.
fn source(index: u64) -> f32 {
    pattern::value(index, SEED) as f32
}

/// The source, and a destination with these elements.
fn arrays(element: impl Fn(u64) -> f32 + Send + Sync + 'static) -> Vec<Buffer> {
    let each = |element: &dyn Fn(u64) -> f32, first: u64, window: &mut [f32]| {
        for (nth, value) in window.iter_mut().enumerate() {
            *value = element(first + nth as u64);
        }
    };
    let place = Place::Device;
    vec![
        Buffer {
            bytes: BYTES,
            place,
            before: Contents::Pattern(Precision::F32),
            after: Expected::exactly(move |first, _, window: &mut [f32]| each(&source, first, window)),
        },
        Buffer {
            bytes: BYTES,
            place,
            before: Contents::Poison,
            after: Expected::exactly(move |first, _, window: &mut [f32]| each(&element, first, window)),
        },
    ]
}

/// Launches a kernel that takes a source and a destination.
fn from_source<K>() -> Work
where
    K: for<'a> Kernel<Arguments<'a> = (Slice<'a, f32>, SliceMut<'a, f32>)>,
{
    Work::kernel::<K>(|buffers| (buffers.read(0), buffers.write(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::tests::request,
    };

    #[test]
    fn each_class_says_what_its_ptx_has() {
        for device in [h200(), c870()] {
            let points = Storage.points(&request(), &device).expect("any device takes the block");
            let of = |point: &Point, name: &str| point.parameters.more.get(name).cloned().unwrap_or_default();
            let spaces: Vec<_> = points.iter().map(|point| of(point, "space")).collect();
            assert_eq!(spaces, ["global", "shared", "shared", "const", "local", "global"]);
            assert_eq!(of(&points[3], "variable"), "STORAGE_CONSTANT");
            assert_eq!(of(&points[3], "variable_bytes"), 16);
            assert_eq!(
                (of(&points[3], "loads"), of(&points[3], "stores")),
                ("ld.const.b32".into(), "".into())
            );
            assert!(of(&points[2], "variable").is_null() && of(&points[2], "variable_bytes").is_null());
        }
    }

    #[test]
    fn kernels_can_be_asked_for_by_name() {
        let request = Request { kernels: vec!["storage_local".to_string()], ..request() };
        let points = Storage.points(&request, &h200()).expect("it is a kernel");
        assert_eq!(points.iter().map(|point| point.kernel).collect::<Vec<_>>(), ["storage_local"]);
        let request = Request { kernels: vec!["copy_scalar".to_string()], ..request };
        assert_eq!(Storage.points(&request, &h200()).map(|points| points.len()).ok(), Some(0));
    }

    #[test]
    fn counting_stays_exact_for_as_many_launches_as_there_may_be() {
        let most = after(pattern::MOST_LAUNCHES);
        for (start, end) in after(0).into_iter().zip(most) {
            assert_eq!(f64::from(end) - f64::from(start), 2.0 * pattern::MOST_LAUNCHES as f64);
        }
    }
}
