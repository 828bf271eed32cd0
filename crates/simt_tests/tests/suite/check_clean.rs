//! Kernels without faults, this repository's own and what nvcc made of their like: all checks are silent.

use crate::check_lab::{Lab, Value, assert_clean};
use simt::check::Checks;

fn lab(file: &str) -> Lab {
    let path = format!("{}/tests/corpus/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Lab::new(&text, Checks::ALL)
}

/// Elements, in seven blocks of 64 threads, the last not full where the kernel looks for the end.
const LENGTH: u64 = 64 * 7 - 5;
const BLOCKS: u32 = 7;

#[test]
fn kernels_of_this_repository() {
    for file in ["kernels_lines.compute_90.ptx", "kernels.compute_120.ptx"] {
        for (kernel, bytes, blocks) in [
            ("copy_scalar", 4, BLOCKS),
            ("copy_vector", 16, BLOCKS),
            ("copy_unrolled", 16, 2),
            ("copy_streaming", 16, BLOCKS),
            ("copy_persistent", 16, 3),
        ] {
            let lab = lab(file);
            let (source, destination) = (lab.zeros(LENGTH * bytes), lab.empty(LENGTH * bytes));
            lab.memory.fill(source, &[7], LENGTH * bytes).unwrap();
            let parameters = [source.into(), LENGTH.into(), destination.into()];
            assert_clean(&lab.launch(kernel, blocks, &parameters), kernel);
            let mut copied = vec![0; (LENGTH * bytes) as usize];
            lab.memory.read(destination, &mut copied).unwrap();
            assert!(copied.iter().all(|byte| *byte == 7), "{kernel}");
            assert_eq!(lab.memory.unwritten(destination), None, "{kernel}");
        }
        for (kernel, bytes) in [("fill_f32", 4), ("fill_f64", 8)] {
            let lab = lab(file);
            let data = lab.empty(LENGTH * bytes);
            let parameters = [data.into(), LENGTH.into(), Value::Word(5)];
            assert_clean(&lab.launch(kernel, 3, &parameters), kernel);
            assert_eq!(lab.memory.unwritten(data), None, "{kernel}");
        }
        for (kernel, bytes) in [("offset_f32", 4), ("offset_f64", 8)] {
            let lab = lab(file);
            let threads = u64::from(BLOCKS) * 64;
            let data = lab.zeros((threads + 3) * bytes);
            assert_clean(&lab.launch(kernel, BLOCKS, &[data.into(), Value::Word(3)]), kernel);
        }
        for (kernel, bytes) in [("stride_f32", 4), ("stride_f64", 8)] {
            let lab = lab(file);
            let threads = u64::from(BLOCKS) * 64;
            let data = lab.zeros(threads * 3 * bytes);
            assert_clean(&lab.launch(kernel, BLOCKS, &[data.into(), Value::Word(3)]), kernel);
        }
    }
}

#[test]
fn kernels_of_nvcc() {
    let lab = lab("shapes.nvcc.compute_90.ptx");
    // Backwards through shared memory of 64 doubles.
    let data = lab.zeros(64 * 8);
    let shape = simt::check::Shape { grid: [1, 1, 1], block: [64, 1, 1] };
    assert_clean(&lab.launch_shape("reverse", shape, 512, &[data.into(), Value::Word(64)]), "reverse");
}
