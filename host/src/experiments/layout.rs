//! `layout`: arrays of structures against structures of arrays. The kernels and what to expect of them are in gpu-kernels'
//! `layout.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Precision, Request, Work, articles,
    check_size, covering, findings, touched_bytes,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::Result;
use cuda_launch::SliceMut;
use cuda_std::vector::F32x4;
use gpu_kernels::layout::{
    layout_aos3_all, layout_aos3_one, layout_aos4_all, layout_aos4_one, layout_padded_all, layout_padded_one,
    layout_soa3_all, layout_soa3_one, layout_vector_all, layout_vector_one,
};
use pattern::Element;
use record::{Parameters, Record};
use report::{Article, Picture};

/// Structures of three or four floats.
pub(super) struct Layout;

/// Bytes of a float.
const SIZE: u64 = 4;

/// Bytes of the request per structure, whatever its layout: all kernels update the same number of structures.
const UNIT: u64 = 16;

/// A kernel and what it updates.
struct Kernel {
    info: KernelInfo,
    /// Floats from a structure to the next one, in each of its arrays.
    pitch: u64,
    /// Fields that it updates.
    fields: u64,
    /// Arrays that it takes.
    arrays: usize,
    work: fn(usize) -> Work,
}

const KERNELS: [Kernel; 10] = [
    structures::<layout_aos3_one, [f32; 3]>(1),
    structures::<layout_padded_one, F32x4>(1),
    arrays::<layout_soa3_one>(1, |length| Work::kernel::<layout_soa3_one>(move |b| (b.write(0), length))),
    structures::<layout_aos4_one, [f32; 4]>(1),
    structures::<layout_vector_one, F32x4>(1),
    structures::<layout_aos3_all, [f32; 3]>(3),
    structures::<layout_padded_all, F32x4>(3),
    arrays::<layout_soa3_all>(3, |length| {
        Work::kernel::<layout_soa3_all>(move |b| (b.write(0), b.write(1), b.write(2), length))
    }),
    structures::<layout_aos4_all, [f32; 4]>(4),
    structures::<layout_vector_all, F32x4>(4),
];

const fn structures<K, T: 'static>(fields: u64) -> Kernel
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (SliceMut<'a, T>, usize)>,
{
    Kernel {
        info: KernelInfo::of::<K>(),
        pitch: size_of::<T>() as u64 / SIZE,
        fields,
        arrays: 1,
        work: |length| Work::kernel::<K>(move |buffers| (buffers.write(0), length)),
    }
}

const fn arrays<K: cuda_launch::Kernel>(arrays: usize, work: fn(usize) -> Work) -> Kernel {
    Kernel { info: KernelInfo::of::<K>(), pitch: 1, fields: 1, arrays, work }
}

impl Experiment for Layout {
    fn name(&self) -> &'static str {
        "layout"
    }

    fn summary(&self) -> &'static str {
        "one field or all: arrays of structures, padded and by vectors, against structures of arrays"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the fields that are updated. `_one` updates one field of each structure, `_all` all of them. An array \
         of structures moves whole sectors for one field; a structure of arrays moves what is needed; a vector of 16 bytes \
         moves a structure by one request."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_4]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &[] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::layout::layout
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn unit(&self, _: &Request) -> u64 {
        UNIT
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let wanted = KERNELS.iter().filter(|kernel| request.wants(kernel.info.name));
        wanted.map(|kernel| point(kernel, request, device)).collect()
    }
}

fn point(kernel: &Kernel, request: &Request, device: &DeviceInfo) -> Result<Point> {
    let &Kernel { pitch, fields, arrays, work, .. } = kernel;
    let elements = request.bytes / UNIT;
    let shape = covering(elements, request.block, device)?;
    let useful = elements * fields * arrays as u64 * SIZE;
    let buffer = |_| Buffer {
        bytes: elements * pitch * SIZE,
        place: Place::Device,
        before: Contents::Pattern(Precision::F32),
        after: incremented(pitch, fields),
    };
    // All fields of a structure are in its sectors, so a kernel that updates some touches what one field touches.
    let touched = touched_bytes(0, elements * pitch, SIZE, 1) * arrays as u64;
    let point = Point::new(Layout.name(), shape, work(elements as usize));
    Ok(Point {
        parameters: Parameters { bytes: request.bytes, elements, ..point.parameters },
        bytes: BytesMoved { read: useful, written: useful, footprint: touched },
        buffers: (0..arrays).map(buffer).collect(),
        ..point
    })
}

/// An array after launches that each add one to the first `fields` of every `pitch` floats.
fn incremented(pitch: u64, fields: u64) -> Expected {
    Expected::added(move |first, addend, values: &mut [f32]| {
        for field in 0..fields {
            let skipped = (field + pitch - first % pitch) % pitch;
            if let Some(values) = values.get_mut(skipped as usize..) {
                f32::add_by(pitch as usize, addend, values);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments::tests::request};
    use cust::memory::bytemuck;

    #[test]
    fn all_kernels_update_as_many_structures_and_count_the_fields_that_they_update() {
        let points = Layout.points(&request(), &h200()).expect("it is a valid request");
        let of = |name: &str| {
            let point = points.iter().find(|point| point.kernel == name).expect("a point");
            (
                point.parameters.elements,
                point.bytes.read >> 16,
                point.bytes.footprint >> 16,
                point.buffers.len(),
            )
        };
        assert_eq!(of("layout_aos3_one"), (1 << 16, 4, 12, 1));
        assert_eq!(of("layout_aos3_all"), (1 << 16, 12, 12, 1));
        assert_eq!(of("layout_padded_all"), (1 << 16, 12, 16, 1));
        assert_eq!(of("layout_soa3_one"), (1 << 16, 4, 4, 1));
        assert_eq!(of("layout_soa3_all"), (1 << 16, 12, 12, 3));
        assert_eq!(of("layout_vector_all"), (1 << 16, 16, 16, 1));
    }

    #[test]
    fn padding_and_other_fields_stay_as_they_are() {
        // From the element with the index 6 on, of structures of 4 with 3 fields: 6, 8, 9 and 10 count.
        let expected = incremented(4, 3);
        let mut values = [0_f32; 5];
        pattern::fill(6, pattern::SEED, &mut values);
        for index in [0, 2, 3, 4] {
            values[index] += 2.0;
        }
        assert_eq!(expected.check(6, 2, bytemuck::cast_slice(&values)), None);
        values[1] += 2.0;
        assert_eq!(
            expected.check(6, 2, bytemuck::cast_slice(&values)).map(|wrong| wrong.first.index),
            Some(7)
        );
    }
}
