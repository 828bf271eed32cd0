//! A product to compute: its buffers, what must come out, and the points of the kernels that compute it.

use super::{
    Matmul,
    element::{Element, Number, of_element, types},
    product::{self, Addition, Matrix, Order, Product},
};
use crate::{
    device::DeviceInfo,
    experiments::{Buffer, BytesMoved, Contents, Experiment, Gemm, Matrices, Place, Point, Shape, Work},
    sizes::Bytes,
    verify::{Expected, Tolerance},
};
use anyhow::{Context, Result, bail};
use record::Parameters;
use serde_json::Value;
use std::sync::Arc;

/// The types of the elements, how B lies in memory, and how products are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Elements of A and B.
    pub factors: Element,
    /// Elements of C.
    pub result: Element,
    /// How B lies in memory.
    pub order: Order,
    /// How products are added.
    pub addition: Addition,
}

impl Form {
    /// `C = alpha A B + beta C` in single precision, B as k rows of n.
    pub(super) const SINGLE: Form =
        Form { factors: Element::F32, result: Element::F32, order: Order::Rows, addition: Addition::EXACT };

    /// `C = A B^T` in bf16, B as n rows of k.
    pub(super) const BF16: Form = Form {
        factors: Element::Bf16,
        result: Element::Bf16,
        order: Order::Columns,
        addition: Addition::EXACT,
    };

    /// The same for B as k rows of n.
    pub(super) const BF16_ROWS: Form = Form { order: Order::Rows, ..Form::BF16 };

    /// The same with C in single precision.
    pub(super) const BF16_TO_F32: Form = Form { result: Element::F32, ..Form::BF16 };

    /// The same for A and B in FP8, C in bf16.
    pub(super) const E4M3: Form = Form { factors: Element::E4m3, ..Form::BF16 };

    /// The same with more bits of the exponent.
    pub(super) const E5M2: Form = Form { factors: Element::E5m2, ..Form::BF16 };

    /// FP8 with the tensor cores' own sums.
    pub(super) const E4M3_FAST: Form = Form { addition: Addition::FAST, ..Form::E4M3 };

    /// The same with more bits of the exponent.
    pub(super) const E5M2_FAST: Form = Form { addition: Addition::FAST, ..Form::E5M2 };

    /// `C = A B^T` in single precision by three products of TF32. Behind C come A and B as two numbers of TF32 each: all the
    /// high ones, then all the low ones.
    pub(super) const THREE_TF32: Form =
        Form { factors: Element::F32, order: Order::Columns, addition: Addition::Single, ..Form::SINGLE };

    /// Whether A and B are split into two numbers each, in buffers of their own.
    pub(super) fn splits(self) -> bool {
        self.addition == Addition::Single
    }

    /// The bytes of the smallest element in a row of `n`: of C, and of B where it lies so.
    pub(super) const fn bytes_along_n(self) -> u64 {
        match self.order {
            Order::Rows if self.factors.bytes() < self.result.bytes() => self.factors.bytes(),
            Order::Rows | Order::Columns => self.result.bytes(),
        }
    }

    /// The parameters of records; none for single precision, which the others are told from.
    fn parameters(self) -> Vec<(String, Value)> {
        let mut parameters = Vec::new();
        let types = types(self.factors, self.result);
        if types != Element::F32.name() {
            parameters.push(("types".to_string(), types.into()));
        }
        if self.order == Order::Columns {
            parameters.push(("b".to_string(), "n x k".into()));
        }
        if self.addition == Addition::FAST {
            parameters.push(("sums".to_string(), "14 bits".into()));
        }
        parameters
    }
}

/// What a run computes besides plain products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Terms {
    /// Alpha and beta.
    pub scale: (f32, f32),
    /// The number of products, whose matrices follow one another; `None` where single ones are asked for.
    pub batch: Option<u32>,
}

impl Terms {
    /// `C = A B`, once.
    #[cfg(test)]
    pub(super) const PLAIN: Terms = Terms { scale: (1.0, 0.0), batch: None };
}

/// A product to compute.
pub(super) struct Task {
    pub(super) matrices: Matrices,
    pub(super) terms: Terms,
    pub(super) form: Form,
    product: Arc<Product>,
}

impl Task {
    /// The product of these matrices.
    ///
    /// # Errors
    /// The device has less memory, or the sums would not be exact.
    pub(super) fn new(matrices: Matrices, terms: Terms, form: Form, device: &DeviceInfo) -> Result<Task> {
        let batch = terms.batch.unwrap_or(1);
        // Compared with the card before anything is multiplied in 64 bits.
        let [a, b, c] = elements(matrices).map(|elements| u128::from(elements) * u128::from(batch));
        let times = if form.splits() { 3 } else { 1 };
        let bytes = times * (a + b) * u128::from(form.factors.bytes()) + c * u128::from(form.result.bytes());
        if bytes > u128::from(device.memory_bytes) {
            bail!(
                "--size {matrices}: the matrices have {} in all, and {} has {} of memory; choose a smaller size",
                readable(bytes),
                device.plain_name(),
                Bytes(device.memory_bytes),
            );
        }
        let product = Product::new(matrices, batch, form.order, form.addition)
            .with_context(|| too_long(matrices, form.addition))?;
        Ok(Task { matrices, terms, form, product: Arc::new(product) })
    }

    /// A launch of a kernel whose blocks load for `shared[0]` rows and `shared[1]` columns of C at a time. `more` are the
    /// parameters of records that the kernel has besides.
    ///
    /// # Errors
    /// There are more operations than 64 bits can count.
    pub(super) fn point(
        &self,
        shape: Shape,
        shared: [u32; 2],
        work: Work,
        more: Option<(&str, u32)>,
    ) -> Result<Point> {
        let Task { matrices, terms: Terms { scale: (alpha, beta), batch }, form, .. } = *self;
        let Matrices { m, n, k } = matrices;
        let copies = u64::from(batch.unwrap_or(1));
        let [a, b, c] = elements(matrices).map(|elements| copies * elements);
        let (read, flops) = work_of(matrices, form, shared, beta)
            .and_then(|(read, flops)| Some((read.checked_mul(copies)?, flops.checked_mul(copies)?)))
            .with_context(|| format!("--size {matrices}: the product has more operations than 64 bits can count; choose a smaller size"))?;
        let mut parameters = form.parameters();
        let batch = batch.map(|batch| ("batch", batch));
        let numbers = [("m", m), ("n", n), ("k", k)].into_iter().chain(batch).chain(more);
        parameters.extend(numbers.map(|(name, value)| (name.to_string(), value.into())));
        if (alpha, beta) != (1.0, 0.0) {
            parameters.extend([("alpha".to_string(), alpha.into()), ("beta".to_string(), beta.into())]);
        }
        let [of_factor, of_result] = [form.factors, form.result].map(Element::bytes);
        let bytes = [a * of_factor, b * of_factor, c * of_result];
        let parts = if form.splits() { vec![2 * bytes[0], 2 * bytes[1]] } else { Vec::new() };
        let point = Point::new(Matmul.name(), shape, work);
        Ok(Point {
            parameters: Parameters {
                bytes: bytes.iter().sum(),
                elements: c,
                more: parameters.into_iter().collect(),
                ..point.parameters
            },
            bytes: BytesMoved {
                read,
                written: bytes[2] + parts.iter().sum::<u64>(),
                footprint: bytes.iter().chain(&parts).map(|bytes| bytes.next_multiple_of(32)).sum(),
            },
            flops: Some(flops),
            product: ((alpha, beta) == (1.0, 0.0)).then_some(Gemm {
                matrices,
                factors: form.factors,
                result: form.result,
                transposed: form.order == Order::Columns,
                fast: form.addition == Addition::FAST,
                batch: copies as u32,
            }),
            buffers: [
                of_element!(form.factors, self.factor(Matrix::A, bytes[0])),
                of_element!(form.factors, self.factor(Matrix::B, bytes[1])),
                Buffer {
                    bytes: bytes[2],
                    place: Place::Device,
                    before: of_element!(form.result, self.initial()),
                    after: match form.addition {
                        Addition::Bits(_) => of_element!(form.result, self.result()),
                        Addition::Single => self.result_within(),
                    },
                },
            ]
            .into_iter()
            // Libraries leave them as they are. A wrong part shows in C.
            .chain(parts.into_iter().map(|bytes| Buffer {
                bytes,
                place: Place::Device,
                before: Contents::Poison,
                after: Expected::Computed(Box::new(|_, _, _| None)),
            }))
            .collect(),
            ..point
        })
    }

    /// A matrix of `bytes` that is only read.
    fn factor<T: Number>(&self, matrix: Matrix, bytes: u64) -> Buffer {
        let (before, after) = (Arc::clone(&self.product), Arc::clone(&self.product));
        Buffer {
            bytes,
            place: Place::Device,
            before: Contents::by_pieces(move |first, values: &mut [T]| {
                before.factor(matrix, first, values.len(), |nth, number| values[nth] = T::nearest(number));
            }),
            after: Expected::exactly(move |first, _, values: &mut [T]| {
                after.factor(matrix, first, values.len(), |nth, number| values[nth] = T::nearest(number));
            }),
        }
    }

    /// C before the launches. Where it is not to be read, it holds NaNs, and reading it would show.
    fn initial<T: Number>(&self) -> Contents {
        let product = Arc::clone(&self.product);
        match self.terms.scale {
            (_, 0.0) => Contents::Poison,
            _ => Contents::of(move |index| T::nearest(product.initial(index))),
        }
    }

    /// C after the launches, as near as single precision comes.
    fn result_within(&self) -> Expected {
        let (product, (alpha, _)) = (Arc::clone(&self.product), self.terms.scale);
        let absolute = product.of_single() * f64::from(alpha.abs());
        Expected::within(Tolerance { absolute, relative: 0.0 }, move |first, _, values: &mut [f32]| {
            product.sums().from(first, values.len(), |nth, sum| values[nth] = alpha * sum);
        })
    }

    /// C after the launches.
    fn result<T: Number>(&self) -> Expected {
        let (product, scale) = (Arc::clone(&self.product), self.terms.scale);
        let rounded = |number| T::nearest(number).single();
        Expected::exactly(move |first, launches, values: &mut [T]| {
            product.sums().from(first, values.len(), |nth, sum| {
                let before = rounded(product.initial(first + nth as u64));
                values[nth] = T::nearest(product::scaled(scale, sum, before, launches, rounded));
            });
        })
    }
}

/// Says why sums over this many products cannot be verified, and which can.
fn too_long(matrices: Matrices, addition: Addition) -> String {
    let bits = if addition == Addition::FAST { 14 } else { 24 };
    let sums =
        if addition == Addition::FAST { "tensor cores' sums of FP8 are" } else { "single precision is" };
    format!(
        "--size {matrices}: a sum of {} products can reach 2^{bits}, beyond which {sums} not exact and the result cannot be \
         verified. k goes up to {}",
        matrices.k,
        (1_u64 << bits) - 1,
    )
}

/// A size that may be of what no machine has.
pub(super) fn readable(bytes: u128) -> String {
    u64::try_from(bytes).map_or("more than 2^64 bytes".to_string(), |bytes| Bytes(bytes).to_string())
}

/// Elements of A, B and C.
fn elements(Matrices { m, n, k }: Matrices) -> [u64; 3] {
    [(m, k), (k, n), (m, n)].map(|(rows, columns)| u64::from(rows) * u64::from(columns))
}

/// Bytes loaded by blocks that each compute `rows` by `columns` of C, and operations. `None` where they exceed 64 bits.
fn work_of(matrices: Matrices, form: Form, [rows, columns]: [u32; 2], beta: f32) -> Option<(u64, u64)> {
    let [a, b, c] = elements(matrices).map(u128::from);
    let (across, down) = (u128::from(matrices.n.div_ceil(columns)), u128::from(matrices.m.div_ceil(rows)));
    let of_c = if beta == 0.0 { 0 } else { c * u128::from(form.result.bytes()) };
    // Of numbers in two parts both are loaded, once they are split.
    let (parts, split) = if form.splits() { (2, a + b) } else { (1, 0) };
    let loaded = u128::from(form.factors.bytes()) * (parts * (a * across + b * down) + split) + of_c;
    let flops = 2 * c * u128::from(matrices.k);
    Some((u64::try_from(loaded).ok()?, u64::try_from(flops).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bf16::Bf16, device::tests::h200, fp8::E4m3};
    use cust::memory::bytemuck;

    fn matrices(m: u32, n: u32, k: u32) -> Matrices {
        Matrices { m, n, k }
    }

    #[test]
    fn loads_shrink_with_the_tile() {
        let single = |matrices, width, beta| work_of(matrices, Form::SINGLE, [width; 2], beta);
        let square = matrices(256, 256, 256);
        // Two numbers a multiplication; a 16th of it; and C once more where it is read.
        assert_eq!(single(square, 1, 0.0), Some((8 << 24, 2 << 24)));
        assert_eq!(single(square, 16, 0.0), Some((8 << 20, 2 << 24)));
        assert_eq!(single(square, 16, 1.0), Some(((8 << 20) + (4 << 16), 2 << 24)));
        // 5 columns are one tile and 17 rows are two: A is loaded once, B twice.
        assert_eq!(single(matrices(17, 5, 3), 16, 0.0), Some((4 * (17 * 3 + 2 * 3 * 5), 2 * 17 * 5 * 3)));
        let largest = matrices(1 << 31, 1 << 31, 1 << 31);
        assert_eq!(single(largest, 1, 0.0), None);
        // Half the bytes an element, and tiles that are wider than high: A twice, B four times.
        let loaded = work_of(square, Form::BF16, [64, 128], 0.0);
        assert_eq!(loaded, Some((2 * (2 + 4) * 65_536, 2 << 24)));
    }

    #[test]
    fn bf16_is_rounded_once_and_said_in_the_record() {
        let task = Task::new(matrices(16, 24, 1000), Terms::PLAIN, Form::BF16, &h200()).expect("a product");
        let work = Work::driver("product", |_, _| Ok(()));
        let point = task.point(crate::experiments::NO_LAUNCH, [64, 256], work, None).expect("a point");
        let said = point.parameters.to_string();
        assert!(said.starts_with("b n x k, k 1000, m 16, n 24, types bf16, "), "{said}");
        assert_eq!(
            point.buffers.iter().map(|buffer| buffer.bytes).collect::<Vec<_>>(),
            [32_000, 48_000, 768]
        );
        let mut sums = Vec::new();
        task.product.sums().from(0, 384, |_, sum| sums.push(sum));
        let bytes = |number: &dyn Fn(f32) -> Bf16| {
            sums.iter().flat_map(|&sum| bytemuck::bytes_of(&number(sum)).to_vec()).collect::<Vec<u8>>()
        };
        let after = &point.buffers[2].after;
        assert_eq!(after.check(0, 1, &bytes(&Bf16::nearest)), None);
        // Cut off instead of rounded, an eighth of the elements are wrong or more.
        let cut = |sum: f32| Bf16::nearest(f32::from_bits(sum.to_bits() & 0xffff_0000));
        let findings = after.check(0, 1, &bytes(&cut)).expect("many are wrong");
        assert!(findings.count > 48, "{findings}");
    }

    #[test]
    fn fp8_is_a_byte_and_said_in_the_record() {
        let task = Task::new(matrices(16, 24, 1040), Terms::PLAIN, Form::E4M3, &h200()).expect("a product");
        let work = Work::driver("product", |_, _| Ok(()));
        let point = task.point(crate::experiments::NO_LAUNCH, [128, 256], work, None).expect("a point");
        let said = point.parameters.to_string();
        assert!(said.starts_with("b n x k, k 1040, m 16, n 24, types e4m3 to bf16, "), "{said}");
        let bytes: Vec<_> = point.buffers.iter().map(|buffer| buffer.bytes).collect();
        assert_eq!(bytes, [16_640, 24_960, 768]);
        let mut numbers = vec![0.0; 100];
        task.product.factor(Matrix::A, 30, 100, |nth, number| numbers[nth] = number);
        let mut a: Vec<_> = numbers.iter().map(|&number| E4m3::nearest(number)).collect();
        assert!(numbers.iter().zip(&a).all(|(&number, element)| element.single() == number));
        let after = &point.buffers[0].after;
        assert_eq!(after.check(30, 1, bytemuck::cast_slice(&a)), None);
        a[7] = E4m3::nearest(8.0);
        assert_eq!(after.check(30, 1, bytemuck::cast_slice(&a)).map(|findings| findings.count), Some(1));
    }

    /// The elements of C that are found wrong if each is `fault(row, column)` in its stead.
    fn found(task: &Task, fault: impl Fn(usize, usize) -> f32) -> u64 {
        let Matrices { m, n, .. } = task.matrices;
        let result: Vec<Bf16> = (0..(m * n) as usize)
            .map(|index| Bf16::nearest(fault(index / n as usize, index % n as usize)))
            .collect();
        let findings = task.result::<Bf16>().check(0, 1, bytemuck::cast_slice(&result));
        findings.map_or(0, |findings| findings.count)
    }

    #[test]
    fn faults_of_tiles_and_steps_are_found_nearly_everywhere() {
        let (m, n, k) = (320_usize, 264_usize, 96_usize);
        let task = Task::new(matrices(320, 264, 96), Terms::PLAIN, Form::BF16, &h200()).expect("a product");
        let factor = |matrix, lines: usize| {
            let mut values = vec![0.0; lines * k];
            task.product.factor(matrix, 0, values.len(), |nth, number| values[nth] = number);
            values
        };
        let (a, b) = (factor(Matrix::A, m), factor(Matrix::B, n));
        let sum = |row: usize, column: usize, terms: &dyn Fn(usize) -> Option<(usize, usize)>| -> f32 {
            (0..k).filter_map(terms).map(|(of_a, of_b)| a[row * k + of_a] * b[column * k + of_b]).sum()
        };
        let all = |nth| Some((nth, nth));
        assert_eq!(found(&task, |row, column| sum(row, column, &all)), 0);
        let elements = (m * n) as u64;
        // Rows of another tile, and columns one further.
        assert!(found(&task, |row, column| sum((row + 64) % m, column, &all)) > elements * 9 / 10);
        assert!(found(&task, |row, column| sum(row, (column + 1) % n, &all)) > elements * 9 / 10);
        // A step of 32 left out, one of its terms left out, and two units of a swizzled row exchanged in A alone.
        let step = |nth| (nth / 32 != 1).then_some((nth, nth));
        assert!(found(&task, |row, column| sum(row, column, &step)) > elements * 9 / 10);
        let term = |nth| (nth != 40).then_some((nth, nth));
        assert!(found(&task, |row, column| sum(row, column, &term)) > elements / 2);
        let unit = |nth: usize| Some((if nth < 16 { nth ^ 8 } else { nth }, nth));
        assert!(found(&task, |row, column| sum(row, column, &unit)) > elements * 9 / 10);
        // One row in the place of another.
        let row_of = |row| if row == 17 { 18 } else { row };
        let in_row = found(&task, |row, column| sum(row_of(row), column, &all));
        assert!((200..=264).contains(&in_row), "{in_row}");
    }

    #[test]
    fn matrices_that_cannot_be_are_refused() {
        let refusal = |m, n, k| {
            let task = Task::new(matrices(m, n, k), Terms::PLAIN, Form::SINGLE, &h200());
            task.err().map(|error| error.to_string())
        };
        assert_eq!(refusal(100, 3, 50), None);
        let error = refusal(1 << 31, 1 << 31, 1 << 31).expect("2^66 bytes");
        assert!(error.contains("--size 2147483648: the matrices have more than 2^64 bytes"), "{error}");
        let error = refusal(1 << 20, 1 << 20, 1).expect("4 TiB");
        assert!(error.contains("have 4.0 TiB in all, and NVIDIA H200 has"), "{error}");
        let error = refusal(1, 1, 1 << 24).expect("sums beyond 2^24");
        assert!(error.contains("--size 1x1x16777216") && error.contains("16777215"), "{error}");
    }
}
