//! `matmul`: the same number, read a thousand times. In single precision on CUDA cores ([`plain`]), and in bf16 and FP8 on tensor
//! cores where a GPU has those of compute capability 9.0 ([`tensor`]).

mod element;
mod plain;
mod product;
mod task;
mod tensor;

use super::{Experiment, KernelInfo, Matrices, Point, Request, Scale, articles, findings};
use crate::device::{Backend, DeviceInfo};
use anyhow::{Result, bail};
pub(crate) use element::{Element, types};
use gpu_kernels::unchecked::register::wide;
use record::Record;
use report::{Article, Picture};
use task::{Form, Task, Terms};

/// C = alpha * A * B + beta * C.
pub(super) struct Matmul;

/// Sizes in a check: whole tiles, as the hardware's counters were read; whole parts of C and two steps for the largest blocks;
/// and remainders on every side.
const SMALL: [Matrices; 3] = [
    Matrices { m: 128, n: 128, k: 16 },
    Matrices { m: 128, n: 256, k: 32 },
    Matrices { m: 70, n: 133, k: 37 },
];

/// Sides of the matrices in a run that names no size: on a GPU, where all kernels fill the card, and beyond L2 with `--full`.
const USUAL: u32 = 2048;
const LARGE: u32 = 4096;

/// The same on tensor cores, which are filled by matrices of 4096.
const USUAL_TENSOR: u32 = 4096;
const LARGE_TENSOR: u32 = 8192;

/// Sizes in a check on tensor cores: whole tiles, and remainders on every side.
const SMALL_TENSOR: [Matrices; 2] =
    [Matrices { m: 128, n: 256, k: 256 }, Matrices { m: 200, n: 328, k: 144 }];

/// Columns of A on a simulated card, where a product that fills the card has to be shallow to be soon done.
const SHALLOW: u32 = 64;

impl Experiment for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn summary(&self) -> &'static str {
        "C = alpha A B + beta C: data reuse in shared memory, in registers and on tensor cores"
    }

    fn reading(&self) -> &'static str {
        "GB/s and intensity count the loads from global memory: two per multiplication without tiles, 16 or 32 times \
         fewer with tiles. Fewer loads give more GFLOP/s, until shared memory is the limit; tiles in registers go beyond it. \
         Rows with types are C = A B^T on tensor cores, their sums in f32: in bf16, and in FP8 (e4m3, e5m2), where C is in \
         bf16 and each 128 products are summed apart, since tensor cores keep about 14 bits of a sum of FP8 products; rows \
         with sums of 14 bits leave them to the tensor cores. matmul_3xtf32 multiplies f32 by three products of TF32: its \
         inputs are fractions of 24 bits, and an element is right within 2^-16 of the root mean square of all."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::MASSIVELY_PARALLEL]
    }

    fn picture(&self) -> Picture {
        Picture::Roofline
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::matmul::matmul
    }

    fn options(&self) -> &'static [&'static str] {
        &["size", "batch", "tile", "block", "alpha", "beta"]
    }

    fn two_dimensional(&self) -> bool {
        true
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        let plain = plain::KERNELS.iter().map(|kernel| kernel.info);
        plain.chain(tensor::RUNGS.iter().map(|rung| rung.info)).collect()
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let mut notes = match is_plain(request) {
            false => vec![
                "the kernels without tensor cores are left out: --batch is of matmul_batched".to_string(),
            ],
            true => plain::notes(request, device),
        };
        notes.extend(tensor::notes(request, &tensor_sizes(request, device), terms(request), device));
        notes
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        let named = plain::KERNELS.iter().find(|kernel| request.names(kernel.info.name));
        if let (false, Some(named)) = (is_plain(request), named) {
            bail!("{} cannot be launched: --batch is of matmul_batched", named.info.name);
        }
        if is_plain(request) && plain::KERNELS.iter().any(|kernel| request.wants(kernel.info.name)) {
            for matrices in sizes(request, device) {
                let task = Task::new(matrices, terms(request), Form::SINGLE, device)?;
                points.extend(plain::points(&task, request, device)?);
            }
        }
        points.extend(tensor::points(request, &tensor_sizes(request, device), terms(request), device)?);
        Ok(points)
    }
}

/// Alpha, beta and the number of products.
fn terms(request: &Request) -> Terms {
    let scale = (request.choices.alpha.unwrap_or(1.0), request.choices.beta.unwrap_or(0.0));
    Terms { scale, batch: request.choices.batch }
}

/// Whether the kernels on CUDA cores can compute what is asked for.
fn is_plain(request: &Request) -> bool {
    request.choices.batch.is_none()
}

/// The sizes to run with.
fn sizes(request: &Request, device: &DeviceInfo) -> Vec<Matrices> {
    match (request.scale, device.backend()) {
        _ if !request.choices.size.is_empty() => request.choices.size.clone(),
        (Scale::Small, _) => SMALL.to_vec(),
        (Scale::Quick, Backend::Modelled) => vec![filling(device)],
        (Scale::Quick, Backend::Measured) => vec![square(USUAL)],
        (Scale::Full, _) => vec![square(USUAL), square(LARGE)],
    }
}

/// The smallest product whose largest blocks' parts of C are as many as multiprocessors.
fn filling(device: &DeviceInfo) -> Matrices {
    let across = device.multiprocessors.isqrt().max(1);
    let down = device.multiprocessors.div_ceil(across);
    Matrices { m: down * wide::ROWS, n: across * wide::COLUMNS, k: SHALLOW }
}

/// The same on tensor cores.
fn tensor_sizes(request: &Request, device: &DeviceInfo) -> Vec<Matrices> {
    match (request.scale, device.backend()) {
        _ if !request.choices.size.is_empty() => request.choices.size.clone(),
        (Scale::Small, _) => SMALL_TENSOR.to_vec(),
        (_, Backend::Modelled) => vec![filling(device)],
        (Scale::Quick, _) => vec![square(USUAL_TENSOR)],
        (Scale::Full, _) => vec![square(USUAL_TENSOR), square(LARGE_TENSOR)],
    }
}

fn square(n: u32) -> Matrices {
    Matrices { m: n, n, k: n }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments,
    };

    #[test]
    fn by_default_every_kernel_fills_the_card() {
        for device in [h200(), DeviceInfo { card: c870().card, ..h200() }, c870()] {
            let points =
                Matmul.points(&experiments::tests::request(), &device).expect("it is a valid request");
            for point in points {
                let blocks = point.parameters.grid.map_or(0, record::Extent::count);
                // 2048 x 2048 are 128 blocks of `matmul_register_wide`, for 132 multiprocessors. 4096 x 4096 are 416 tiles of
                // `matmul_staggered`, four even waves of 104 blocks, and as many of 132.
                let enough = match point.kernel {
                    "matmul_staggered" => 104,
                    _ => u64::from(device.multiprocessors) * 95 / 100,
                };
                assert!(blocks >= enough, "{}: {blocks} blocks", point.kernel);
            }
        }
    }

    #[test]
    fn what_the_device_cannot_launch_is_left_out_unless_it_is_named() {
        let request = Request { sized: false, ..experiments::tests::request() };
        assert!(Matmul.notes(&request, &h200()).is_empty());
        let notes = Matmul.notes(&request, &c870());
        assert!(notes.len() == 4 && notes[0].starts_with("matmul_tiled_32 is left out: "), "{notes:?}");
        let wide = "matmul_register_wide is left out: its tiles need more shared memory per block than the 16 KiB of ";
        assert!(notes[1].starts_with(wide), "{notes:?}");
        let kernels: Vec<_> = Matmul
            .points(&request, &c870())
            .expect("the rest can be launched")
            .iter()
            .map(|point| (point.kernel, point.parameters.more.get("tile").cloned()))
            .collect();
        assert_eq!(
            kernels,
            [
                ("matmul_naive", None),
                ("matmul_tiled_16", None),
                ("matmul_tiled_dynamic", Some(16.into())),
                ("matmul_register", None)
            ]
        );
        for kernel in ["matmul_tiled_32", "matmul_register_wide"] {
            let named = experiments::tests::naming(&[kernel]);
            assert!(Matmul.notes(&named, &c870()).is_empty());
            assert!(Matmul.points(&named, &c870()).is_err());
        }
    }

    /// A request for the default kernels at these sizes.
    fn at(sizes: &[Matrices]) -> Request {
        let mut request = experiments::tests::request();
        request.choices.size = sizes.to_vec();
        request
    }

    /// The kernels of the points on tensor cores, by plain launches.
    fn on_tensor_cores(request: &Request, device: &DeviceInfo) -> Vec<(&'static str, String)> {
        let points = Matmul.points(request, device).expect("a valid request");
        let of = |point: Point| (point.kernel, point.parameters.to_string());
        let plain = |point: &Point| is_on_tensor_cores(point.kernel) && !overlaps(point);
        points.into_iter().filter(plain).map(of).collect()
    }

    fn overlaps(point: &Point) -> bool {
        point.parameters.more.get("launches").is_some_and(|launches| launches == "overlapping")
    }

    #[test]
    fn kernels_that_wait_for_the_one_ahead_have_a_row_of_overlapping_launches() {
        let points = Matmul.points(&experiments::tests::request(), &h200()).expect("it is a valid request");
        let of = |kernel| points.iter().filter(|point| point.kernel == kernel).map(overlaps).collect();
        for kernel in ["matmul_small", "matmul_between", "matmul_medium"] {
            let rows: Vec<bool> = of(kernel);
            assert_eq!(rows, [false, true], "{kernel}");
        }
        assert_eq!(points.iter().filter(|point| overlaps(point)).count(), 3);
    }

    fn is_on_tensor_cores(kernel: &str) -> bool {
        tensor::RUNGS.iter().any(|rung| rung.info.name == kernel)
    }

    /// `a, b and c`.
    fn listed(names: &[&str]) -> String {
        let (last, rest) = names.split_last().expect("names");
        format!("{} and {last}", rest.join(", "))
    }

    #[test]
    fn the_ladder_runs_where_its_instructions_exist() {
        let ladder = [
            "matmul_mma",
            "matmul_wgmma",
            "matmul_ring",
            "matmul_persistent",
            "matmul_stored",
            "matmul_overlapped",
            "matmul_multicast",
            "matmul_wide",
            "matmul_staggered",
            "matmul_even",
            "matmul_small",
            "matmul_between",
            "matmul_medium",
            "matmul_rows_of_b",
            "matmul_to_f32",
            "matmul_e4m3",
            "matmul_e5m2",
            "matmul_e4m3_promoted",
            "matmul_e5m2_promoted",
            "matmul_3xtf32",
        ];
        let found = on_tensor_cores(&experiments::tests::request(), &h200());
        assert_eq!(found.iter().map(|(kernel, _)| *kernel).collect::<Vec<_>>(), ladder);
        for (kernel, parameters) in found {
            let says = match kernel {
                "matmul_multicast" | "matmul_wide" | "matmul_staggered" => {
                    "b n x k, cluster 2, k 4096, m 4096, n 4096, types bf16, 100663296 bytes, block "
                }
                "matmul_rows_of_b" => "k 4096, m 4096, n 4096, types bf16, 100663296 bytes, block ",
                "matmul_to_f32" => {
                    "b n x k, k 4096, m 4096, n 4096, types bf16 to f32, 134217728 bytes, block "
                }
                "matmul_e4m3" => {
                    "b n x k, k 4096, m 4096, n 4096, sums 14 bits, types e4m3 to bf16, 67108864 bytes, block "
                }
                "matmul_e5m2" => {
                    "b n x k, k 4096, m 4096, n 4096, sums 14 bits, types e5m2 to bf16, 67108864 bytes, block "
                }
                "matmul_3xtf32" => "b n x k, k 4096, m 4096, n 4096, 201326592 bytes, block ",
                "matmul_e4m3_promoted" => {
                    "b n x k, k 4096, m 4096, n 4096, types e4m3 to bf16, 67108864 bytes, block "
                }
                "matmul_e5m2_promoted" => {
                    "b n x k, k 4096, m 4096, n 4096, types e5m2 to bf16, 67108864 bytes, block "
                }
                _ => "b n x k, k 4096, m 4096, n 4096, types bf16, 100663296 bytes, block ",
            };
            assert!(parameters.starts_with(says), "{kernel}: {parameters}");
        }
        let simulated = DeviceInfo { card: c870().card, ..h200() };
        let ampere = DeviceInfo { compute_capability: "8.0".to_string(), ..h200() };
        for (device, why) in
            [(&simulated, "are not simulated"), (&ampere, "run on compute capability 9.0 alone")]
        {
            let request = experiments::tests::request();
            let runs: Vec<_> = on_tensor_cores(&request, device).into_iter().map(|(name, _)| name).collect();
            // The simulator knows the instructions of the first rung.
            let simulated = usize::from(device.backend() == Backend::Modelled);
            assert_eq!(runs, ladder[..simulated]);
            let [note] = &Matmul.notes(&request, device)[..] else { panic!("one note") };
            let says = format!("{} are left out: kernels for compute_90a ", listed(&ladder[simulated..]));
            assert!(note.starts_with(&says) && note.contains(why), "{note}");
            let named = experiments::tests::naming(&["matmul_wgmma"]);
            assert!(Matmul.notes(&named, device).is_empty());
            let error = Matmul.points(&named, device).err().expect("it cannot run").to_string();
            assert!(error.starts_with("matmul_wgmma cannot be launched: ") && error.contains(why), "{error}");
        }
    }

    #[test]
    fn rows_of_matrices_on_tensor_cores_are_whole_units() {
        let sizes = [
            Matrices { m: 5, n: 16, k: 16 },
            Matrices { m: 70, n: 133, k: 48 },
            Matrices { m: 8, n: 8, k: 37 },
            Matrices { m: 8, n: 8, k: 24 },
        ];
        let request = at(&sizes);
        let names = tensor::RUNGS.iter().map(|rung| rung.info.name);
        let all: Vec<_> = names.filter(|&name| name != "matmul_batched").collect();
        let of_fp8 = |name: &&str| name.contains("_e4m3") || name.contains("_e5m2");
        let (fp8, others): (Vec<&str>, Vec<&str>) = all.iter().copied().partition(of_fp8);
        let bf16: Vec<_> = others.iter().copied().filter(|&name| name != "matmul_3xtf32").collect();
        let points = on_tensor_cores(&request, &h200()).len();
        assert_eq!(points, all.len() + others.len(), "the first alone in all types, and the last but in FP8");
        let notes = Matmul.notes(&request, &h200());
        let note = |names: &[&str], what: &str, unit: u32| {
            format!(
                "{} left out: --size {what} is not a multiple of {unit}, and rows have to begin at multiples of 16 bytes",
                if let [one] = names { format!("{one} is") } else { format!("{} are", listed(names)) }
            )
        };
        let to_f32 = ["matmul_to_f32", "matmul_3xtf32"];
        let to_bf16: Vec<_> = all.iter().copied().filter(|name| !to_f32.contains(name)).collect();
        assert_eq!(
            notes,
            [
                note(&to_bf16, "70x133x48: N = 133", 8),
                note(&bf16, "8x8x37: K = 37", 8),
                note(&to_f32, "70x133x48: N = 133", 4),
                note(&fp8, "8x8x37: K = 37", 16),
                note(&fp8, "8x8x24: K = 24", 16),
                note(&["matmul_3xtf32"], "8x8x37: K = 37", 4),
            ]
        );
        let mut scaled = at(&sizes[..1]);
        scaled.choices.beta = Some(1.0);
        let [(with_beta, _)] = on_tensor_cores(&scaled, &h200())[..] else { panic!("one takes beta") };
        assert_eq!(with_beta, "matmul_to_f32");
        assert!(Matmul.notes(&scaled, &h200())[0].ends_with("C = A B^T has neither --alpha nor --beta"));
    }

    #[test]
    fn stacks_are_multiplied_by_one_kernel() {
        let mut request = at(&[Matrices { m: 64, n: 64, k: 64 }]);
        request.choices.batch = Some(32);
        let points = Matmul.points(&request, &h200()).expect("a valid request");
        assert_eq!(points.iter().map(|point| point.kernel).collect::<Vec<_>>(), ["matmul_batched"]);
        let notes = Matmul.notes(&request, &h200());
        assert_eq!(notes[0], "the kernels without tensor cores are left out: --batch is of matmul_batched");
        assert!(notes[1].ends_with("--batch: a launch of it multiplies one matrix by one"), "{notes:?}");
        let mut named = experiments::tests::naming(&["matmul_tiled_16"]);
        named.choices.batch = Some(2);
        let error = Matmul.points(&named, &h200()).err().expect("one product").to_string();
        assert_eq!(error, "matmul_tiled_16 cannot be launched: --batch is of matmul_batched");
    }
}
