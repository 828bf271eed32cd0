//! Points with everything that a point can have, on the simulated driver: a process binds one driver, so there is one test.

use super::*;
use crate::{
    device::{self, DeviceChoice, Gpu},
    experiments::{Buffer, BytesMoved, Contents, Place, Placement, Symbol, Work, covering},
    kernels,
    verify::{Expected, compare},
};
use cuda_std::kernel;
use cust::stream::StreamFlags;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

/// Each of `n` threads: `destination[i] = source[i] * FACTOR`, and one more in COUNT for each.
const SCALE: &str = "
.version 7.4
.target sm_75
.address_size 64
.visible .const .align 4 .u32 FACTOR;
.visible .global .align 4 .u32 COUNT;
.visible .entry scale(.param .u64 source, .param .u64 length, .param .u64 destination, .param .u32 n) {
.reg .pred %p<2>;
.reg .b32 %r<9>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [source];
ld.param.u64 %rd2, [destination];
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.u32 %r5, %r2, %r3, %r4;
setp.ge.u32 %p1, %r5, %r1;
@%p1 ret;
mul.wide.u32 %rd3, %r5, 4;
add.u64 %rd4, %rd1, %rd3;
add.u64 %rd5, %rd2, %rd3;
ld.u32 %r6, [%rd4];
ld.const.u32 %r7, [FACTOR];
mul.lo.u32 %r6, %r6, %r7;
st.u32 [%rd5], %r6;
mov.u64 %rd6, COUNT;
red.global.add.u32 [%rd6], 1;
ret;
}
";

/// The same as the host launches it.
#[kernel(requires(source.len() == n))]
unsafe fn scale(source: &[u32], destination: *mut u32, n: u32) {
    _ = (source, destination, n);
}

const ELEMENTS: u32 = 70_000;
const BYTES: u64 = ELEMENTS as u64 * 4;

/// Scales by three, from memory in one place to memory in another.
fn point(source: Place, destination: Place, info: &DeviceInfo, before: &Arc<AtomicU32>) -> Point {
    let shape = covering(u64::from(ELEMENTS), 128, info).expect("it fits");
    let work = Work::kernel::<scale>(|buffers| (buffers.read(0), buffers.write(1), ELEMENTS));
    let before = Arc::clone(before);
    Point {
        bytes: BytesMoved { read: BYTES, written: BYTES, footprint: 2 * BYTES },
        buffers: vec![
            Buffer {
                bytes: BYTES,
                place: source,
                before: Contents::of(|index| index as u32 + 7),
                after: Expected::exactly(|first, _, values: &mut [u32]| {
                    values.iter_mut().zip(first..).for_each(|(value, index)| *value = index as u32 + 7);
                }),
            },
            Buffer {
                bytes: BYTES,
                place: destination,
                before: Contents::Poison,
                after: Expected::Computed(Box::new(|start, _, found| {
                    compare(start / 4, found, |index| 3 * (index as u32 + 7), |a: &u32, b| a == b)
                })),
            },
        ],
        symbols: vec![
            Symbol { name: "FACTOR", bytes: 3_u32.to_le_bytes().to_vec() },
            Symbol { name: "COUNT", bytes: vec![0; 4] },
        ],
        symbols_after: vec![(
            "COUNT",
            Expected::exactly(|_, launches, values: &mut [u32]| values.fill(ELEMENTS * launches as u32)),
        )],
        before_each: Some(Box::new(move |_, buffers| {
            assert_eq!(buffers.count(), 2);
            before.fetch_add(1, Relaxed);
            Ok(())
        })),
        observe: Some(Box::new(|moment, buffers| {
            Ok(BTreeMap::from([(format!("{moment:?}"), serde_json::Value::from(buffers.count()))]))
        })),
        ..Point::new("test", shape, work)
    }
}

/// The same kernel of two modules.
fn contenders<'a>(point: &'a Point, functions: &'a [Function<'a>; 2]) -> [Contender<'a>; 2] {
    functions.each_ref().map(|function| Contender { point, function: Some(function) })
}

#[test]
fn every_place_symbol_and_hook_of_a_point_is_seen_to() {
    let choice: DeviceChoice = "sim:h200".parse().expect("a card");
    let driver = device::bind(&choice).expect("it can be simulated");
    let gpu = Gpu::open(&choice, &driver).expect("it opens");
    let modules = [0, 1].map(|_| kernels::load(SCALE, "the test's kernel").expect("sound PTX"));
    let functions = [0, 1].map(|number| modules[number].get_function("scale").expect("it is there"));
    let before = Arc::new(AtomicU32::new(0));

    let managed = Place::Managed(Placement::OnDemand);
    for (source, destination) in [
        (Place::Device, Place::Device),
        (managed, Place::Pinned),
        (Place::Pinned, managed),
        (managed, Place::Device),
    ] {
        for effort in [Effort::Samples(2), Effort::Once] {
            let point = point(source, destination, &gpu.info, &before);
            let slots = crate::memory::needed([&point]);
            let device_buffers =
                [source, destination].iter().filter(|place| **place == Place::Device).count();
            assert_eq!(slots.len(), device_buffers);
            let memory =
                Memory::allocate(&slots, crate::memory::needed_on_host([&point]), &modules[0], &gpu.info);
            let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
            let interrupt = Interrupt::never();
            let memory = memory.expect("there is room");
            let mut measurer = Measurer::new(stream, memory, effort, &gpu.info, interrupt).expect("events");
            before.store(0, Relaxed);
            // Each contender's variables are its own module's.
            let measured = measurer
                .measure(&contenders(&point, &functions))
                .expect("it runs")
                .expect("nobody interrupts");
            assert_eq!(measured.len(), 2);
            for measurement in &measured {
                assert_eq!(measurement.fault, None, "{source:?} to {destination:?}");
                let seen = [("After", 2), ("Before", 2)].map(|(key, count)| (key.to_string(), count.into()));
                assert_eq!(measurement.observed, BTreeMap::from(seen));
                assert!(measurement.launch.is_some());
                let (method, timed) = match effort {
                    Effort::Usual | Effort::Samples(_) => (Method::Modelled, true),
                    Effort::Once => (Method::Once, false),
                };
                assert_eq!((measurement.method, measurement.times().is_some()), (method, timed));
            }
            let launches = if effort == Effort::Once { 2 } else { 2 * (1 + 2) };
            assert_eq!(before.load(Relaxed), launches);

            let wrong = Point {
                symbols: vec![Symbol { name: "FACTOR", bytes: 5_u32.to_le_bytes().to_vec() }],
                ..self::point(source, destination, &gpu.info, &before)
            };
            let measured = measurer
                .measure(&contenders(&wrong, &functions)[..1])
                .expect("it runs")
                .expect("nobody interrupts");
            let fault = measured[0].fault.as_deref().expect("COUNT goes on from where it was");
            assert!(fault.starts_with("variable COUNT: 1 element is wrong"), "{fault}");
            let wrong = Point { symbols_after: Vec::new(), ..wrong };
            let measured = measurer
                .measure(&contenders(&wrong, &functions)[..1])
                .expect("it runs")
                .expect("nobody interrupts");
            let fault = measured[0].fault.as_deref().expect("five is not three");
            assert_eq!(fault, "buffer 1: 70000 elements are wrong, the first at index 0: 35 instead of 21");
            for (name, length, says) in [
                ("NOTHING", 4, "has no variable NOTHING"),
                ("FACTOR", 8, "FACTOR has 4 bytes, and 8 are to be"),
            ] {
                let wrong = Point {
                    symbols: vec![Symbol { name, bytes: vec![0; length] }],
                    ..self::point(source, destination, &gpu.info, &before)
                };
                let error = measurer.measure(&contenders(&wrong, &functions)[..1]).expect_err("refused");
                assert!(format!("{error:#}").contains(says), "{error:#}");
            }
        }
    }
}
