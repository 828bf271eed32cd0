//! What the kernels do, by name. Written from their descriptions, for host memory.

use crate::environment::text;
use std::ffi::c_void;

/// Work in a stream.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Sets bytes.
    Set { start: u64, value: u8, bytes: usize },
    /// Copies bytes.
    Copy { target: u64, source: u64, bytes: usize },
    /// Runs a kernel.
    Kernel { name: String, threads: u64, arguments: [u64; 3] },
    /// Multiplies matrices, by a kernel or a library's function of this name.
    Product { name: String, product: Product },
    /// The same of A, B and C in bf16, B as `n` rows of `k`, by a kernel for tensor cores: addresses, and m, n, k.
    HalfProduct { name: String, matrices: [u64; 3], sizes: [u64; 3] },
}

/// A product of matrices in columns, none of them transposed, as BLAS defines it: C of `rows` by `columns` is a sum of `depth`
/// products. A matrix is an address, and the elements from one column to the next.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Product {
    pub sizes: [u64; 3],
    pub first: [u64; 2],
    pub second: [u64; 2],
    pub result: [u64; 2],
    /// How many bytes it is said to move.
    pub bytes: u64,
}

/// Reads a launch's parameters as the kernel's signature has them.
pub(crate) unsafe fn decode(name: &str, threads: u64, parameters: *const *const c_void) -> Operation {
    let long = |number: usize| unsafe { **parameters.add(number).cast::<*const u64>() };
    let short = |number: usize| u64::from(unsafe { **parameters.add(number).cast::<*const u32>() });
    if name == "matmul_register" {
        // A and B are slices of rows: an address and a length.
        let [m, n, k] = [5, 6, 7].map(short);
        let (a, b, c) = (long(0), long(2), long(4));
        let bytes = 8 * (m * k + k * n + m * n);
        let product = Product { sizes: [n, m, k], first: [b, n], second: [a, k], result: [c, n], bytes };
        return Operation::Product { name: name.to_string(), product };
    }
    if name == "matmul_mma" {
        let (matrices, sizes) = ([0, 2, 4].map(long), [5, 6, 7].map(short));
        return Operation::HalfProduct { name: name.to_string(), matrices, sizes };
    }
    let arguments = match name {
        "offset_f32" | "offset_f64" | "stride_f32" | "stride_f64" => [long(0), short(1), 0],
        "fill_f32" | "fill_f64" => [long(0), long(1), short(2)],
        "launch_empty" => [0; 3],
        copy if copy.starts_with("copy_") => [long(0), long(1), long(2)],
        other => panic!("the fake driver does not know the kernel {other}"),
    };
    Operation::Kernel { name: name.to_string(), threads, arguments }
}

/// Does the work: the bytes that it moved, and whether a kernel did. `None` where the device faults.
pub(crate) fn run(operation: &Operation) -> Option<(u64, bool)> {
    let is = |variable: &str, kernel: &str| text(variable).as_deref() == Some(kernel);
    match operation {
        Operation::Set { start, value, bytes } => {
            unsafe { (*start as *mut u8).write_bytes(*value, *bytes) };
            Some((*bytes as u64, false))
        }
        Operation::Copy { target, source, bytes } => {
            unsafe { (*target as *mut u8).copy_from(*source as *const u8, *bytes) };
            Some((2 * *bytes as u64, false))
        }
        Operation::Product { name, product } => {
            multiply(product, is("FAKE_WRONG", name));
            Some((product.bytes, true))
        }
        Operation::HalfProduct { name, matrices, sizes } => {
            Some((multiply_halves(*matrices, *sizes, is("FAKE_WRONG", name)), true))
        }
        Operation::Kernel { name, .. } if is("FAKE_FAULT", name) => None,
        Operation::Kernel { name, threads, arguments } => {
            let wrong = is("FAKE_WRONG", name);
            let stray = is("FAKE_STRAY", name);
            let bytes = match name.as_str() {
                "fill_f32" => fill(arguments, |value| value as f32),
                "fill_f64" => fill(arguments, f64::from),
                "offset_f32" => increment::<f32>(arguments[0], *threads, (arguments[1], 1), wrong, stray),
                "offset_f64" => increment::<f64>(arguments[0], *threads, (arguments[1], 1), wrong, stray),
                "stride_f32" => increment::<f32>(arguments[0], *threads, (0, arguments[1]), wrong, stray),
                "stride_f64" => increment::<f64>(arguments[0], *threads, (0, arguments[1]), wrong, stray),
                "launch_empty" => 0,
                name => copy(name, arguments, wrong),
            };
            Some((bytes, true))
        }
    }
}

fn fill<T>(&[start, length, seed]: &[u64; 3], element: impl Fn(u32) -> T) -> u64 {
    for index in 0..length {
        let folded = (index ^ (index >> 32)) & 0xFFFF_FFFF;
        let value = (folded * 2_654_435_761 + seed) & 0xFFFF_FFFF;
        unsafe { (start as *mut T).add(index as usize).write(element((value >> 12) as u32)) };
    }
    length * size_of::<T>() as u64
}

/// By the definition. What is wrong is the last element, which is not written.
fn multiply(product: &Product, wrong: bool) {
    let Product { sizes: [rows, columns, depth], first, second, result, .. } = *product;
    let place = |[start, pitch]: [u64; 2], row: u64, column: u64| {
        let start = start as *mut f32;
        unsafe { start.add((column * pitch + row) as usize) }
    };
    for index in 0..rows * columns - u64::from(wrong) {
        let (row, column) = (index % rows, index / rows);
        let term = |nth| unsafe { place(first, row, nth).read() * place(second, nth, column).read() };
        unsafe { place(result, row, column).write((0..depth).map(term).sum()) };
    }
}

/// By the definition, rounded to the nearest, to even of two. What is wrong is that C is cut off instead.
fn multiply_halves([a, b, c]: [u64; 3], [m, n, k]: [u64; 3], wrong: bool) -> u64 {
    let number = |matrix: u64, index: u64| {
        f32::from_bits(u32::from(unsafe { *(matrix as *const u16).add(index as usize) }) << 16)
    };
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let sum: f32 = (0..k).map(|nth| number(a, row * k + nth) * number(b, column * k + nth)).sum();
        let bits = sum.to_bits();
        let rounding = if wrong { 0 } else { 0x7fff + (bits >> 16 & 1) };
        unsafe { (c as *mut u16).add((row * n + column) as usize).write(((bits + rounding) >> 16) as u16) };
    }
    2 * (m * k + n * k + m * n)
}

trait One: Copy + std::ops::Add<Output = Self> {
    const ONE: Self;
}

impl One for f32 {
    const ONE: f32 = 1.0;
}

impl One for f64 {
    const ONE: f64 = 1.0;
}

fn increment<T: One>(start: u64, threads: u64, (offset, step): (u64, u64), wrong: bool, stray: bool) -> u64 {
    let a = start as *mut T;
    for thread in 0..threads {
        // What is wrong is one element in the middle, which is left as it was.
        if !(wrong && thread == threads / 2) {
            let element = unsafe { a.add((offset + thread * step) as usize) };
            unsafe { element.write(element.read() + T::ONE) };
        }
    }
    if stray {
        let element = unsafe { a.add((offset + threads * step) as usize) };
        unsafe { element.write(T::ONE) };
    }
    2 * threads * size_of::<T>() as u64
}

fn copy(name: &str, &[source, length, destination]: &[u64; 3], wrong: bool) -> u64 {
    let element = if name == "copy_scalar" { 4 } else { 16 };
    // What is wrong is the last element, which is not copied.
    let bytes = (length - u64::from(wrong)) * element;
    unsafe { (destination as *mut u8).copy_from(source as *const u8, bytes as usize) };
    2 * length * element
}
