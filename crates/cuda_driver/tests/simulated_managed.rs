//! Managed memory on a simulated card with less room than there is data: who moves, who stays, and what it takes.
//!
//! One test: the budget is the device's, and tests of a process share it.

use std::ffi::c_void;
use std::ptr;

use cuda_driver::ext::{self, Advice, Location};
use cuda_driver::simulated::{self, Migration};
use cust_raw as sys;

#[path = "support/common.rs"]
mod common;
use common::{KERNELS, OwnContext, bind, function, launch, module, ok};

const MIB: u64 = 1 << 20;
const BYTES: u64 = 8 * MIB;
const CARD: Location = Location::Device(0);

/// Managed memory, and a kernel that adds to all of it.
struct Managed {
    address: u64,
    add: sys::CUfunction,
    launches: u32,
}

impl Managed {
    fn advise(&self, start: u64, bytes: u64, advice: Advice, place: Location) {
        // SAFETY: the driver checks the range, which is of the allocation.
        unsafe { ext::advise(self.address + start, bytes as usize, advice, place) }.expect("advice");
    }

    fn prefetch(&self, start: u64, bytes: u64, place: Location) {
        // SAFETY: the driver checks the range, which is of the allocation.
        unsafe { ext::prefetch(self.address + start, bytes as usize, place, ptr::null_mut()) }
            .expect("a prefetch");
    }

    /// To the host, without advice.
    fn reset(&self) {
        self.advise(0, BYTES, Advice::NoPreferredLocation, CARD);
        self.advise(0, BYTES, Advice::NotAccessedBy, CARD);
        self.advise(0, BYTES, Advice::NotReadMostly, CARD);
        self.prefetch(0, BYTES, Location::Host);
        assert_eq!(self.on_card(), 0);
    }

    fn on_card(&self) -> u64 {
        let residence = simulated::residence(0, self.address, BYTES).expect("it is managed memory");
        assert_eq!(residence.on_device + residence.on_host + residence.untouched, BYTES, "{residence:?}");
        residence.on_device
    }

    /// Adds one to each element of a part, and tells what moved and what went over the link, read and written.
    fn add(&mut self, bytes: u64) -> (Migration, [u64; 2]) {
        let (mut pointer, mut value) = (self.address, 1_u32);
        let mut parameters = [(&raw mut pointer).cast::<c_void>(), (&raw mut value).cast()];
        simulated::forget_launches();
        // SAFETY: the kernel takes a pointer and a u32, and adds to `bytes / 4` elements, which are allocated.
        ok(unsafe { launch(self.add, (bytes / 4096) as u32, 1024, &mut parameters) });
        self.launches += 1;
        let record = simulated::last_launch().expect("a launch");
        assert!(record.seconds >= record.time.seconds + record.migration.seconds, "{record:?}");
        let link = record.counters.link;
        (record.migration, [link.sectors_read * 32, link.sectors_written * 32])
    }
}

#[test]
fn managed_memory_in_less_room_than_it_wants() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let mut managed = Managed { address: 0, add: function(module(KERNELS), "add"), launches: 0 };
    // SAFETY: the pointer can be written.
    ok(unsafe { sys::cuMemAllocManaged(&raw mut managed.address, BYTES as usize, 1) });
    assert!(!simulated::limit_managed_memory(99, None), "there is no device 99");
    assert!(simulated::limit_managed_memory(0, Some(BYTES / 2)));
    assert_eq!(simulated::residence(0, managed.address, BYTES).expect("memory").untouched, BYTES);
    assert_eq!(simulated::residence(0, managed.address, BYTES + 1), None);

    // On demand: all of it comes, and half of it leaves.
    let (moved, link) = managed.add(BYTES);
    assert_eq!((moved.bytes_in, moved.bytes_out, moved.evictions, link), (BYTES, BYTES / 2, 2, [0, 0]));
    assert_eq!(managed.on_card(), BYTES / 2);
    // A sweep never finds what it left: the last half is there, and leaves for the first.
    let (moved, _) = managed.add(BYTES);
    assert_eq!((moved.bytes_in, moved.bytes_out), (BYTES, BYTES));
    let swept = moved.seconds;

    // Half of it at a time fits, and is there the second time.
    managed.reset();
    assert_eq!(managed.add(BYTES / 2).0.bytes_in, BYTES / 2);
    assert_eq!(managed.add(BYTES / 2).0, Migration::default());

    // A prefetch brings what fits; what it does not bring faults, unless the card reaches it where it is.
    managed.reset();
    managed.prefetch(0, BYTES, CARD);
    assert_eq!(managed.on_card(), BYTES / 2);
    let (moved, _) = managed.add(BYTES);
    assert_eq!((moved.bytes_in, moved.bytes_out), (BYTES / 2, BYTES / 2));
    managed.reset();
    managed.advise(0, BYTES, Advice::AccessedBy, CARD);
    managed.prefetch(0, BYTES, CARD);
    let (moved, link) = managed.add(BYTES);
    assert_eq!((moved.bytes_in, link), (0, [BYTES / 2, BYTES / 2]));
    assert_eq!((moved.seconds, managed.on_card()), (0.0, BYTES / 2));

    // Partitioned between host and card by hints, for pages of 2 MiB, of 64 KiB, and of 4 KiB, which are parts of the driver's own pages.
    for page in [2 * MIB, 64 << 10, 4 << 10] {
        managed.reset();
        for start in (0..BYTES).step_by(2 * page as usize) {
            managed.advise(start, page, Advice::PreferredLocation, CARD);
            managed.advise(start + page, page, Advice::PreferredLocation, Location::Host);
            managed.advise(start + page, page, Advice::AccessedBy, CARD);
        }
        managed.prefetch(0, BYTES, CARD);
        if page < 64 << 10 {
            assert_eq!(managed.on_card(), BYTES / 2, "every second part of all pages");
        }
        // Pages that the host should keep came all the same, and leave for it again.
        if page >= 64 << 10 {
            managed.prefetch(0, BYTES, Location::Host);
            (0..BYTES).step_by(2 * page as usize).for_each(|start| managed.prefetch(start, page, CARD));
        }
        assert_eq!(managed.on_card(), BYTES / 2, "{page}");
        let (moved, link) = managed.add(BYTES);
        assert_eq!((moved.bytes_in, moved.bytes_out, link), (0, 0, [BYTES / 2, BYTES / 2]), "{page}");
    }
    // The hints of parts are told: they differ, and where they do not, they are one.
    let preferred = |start: u64, bytes: usize| {
        let mut place = 99;
        // SAFETY: the attribute is one integer.
        let code = unsafe {
            sys::cuMemRangeGetAttribute(
                (&raw mut place).cast(),
                4,
                sys::CUmem_range_attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                managed.address + start,
                bytes,
            )
        };
        ok(code);
        place
    };
    assert_eq!([preferred(0, 4096), preferred(4096, 4096), preferred(0, 8192)], [0, -1, -2]);

    // Pages that are mostly read are copied: they leave for nothing.
    managed.reset();
    managed.advise(0, BYTES, Advice::ReadMostly, CARD);
    managed.prefetch(0, BYTES / 2, CARD);
    managed.prefetch(BYTES / 2, BYTES / 2, CARD);
    assert_eq!(managed.on_card(), BYTES / 2);
    // Writing makes the copies the only ones: each page is a fault, without bytes for the half that is there.
    let (moved, _) = managed.add(BYTES);
    assert!(moved.faults >= 64 && moved.bytes_in >= BYTES / 2, "{moved:?}");

    // What was added is there, wherever it was.
    managed.reset();
    assert!(swept > BYTES as f64 / 56e9, "{swept}");
    // SAFETY: the memory is managed, and no kernel runs.
    let values = unsafe {
        std::slice::from_raw_parts(
            ptr::with_exposed_provenance::<u32>(managed.address as usize),
            BYTES as usize / 4,
        )
    };
    assert!(values[..values.len() / 2].iter().all(|value| *value == managed.launches));
    assert!(values[values.len() / 2..].iter().all(|value| *value == managed.launches - 2));
    simulated::limit_managed_memory(0, None);
    // SAFETY: the memory is ours.
    ok(unsafe { sys::cuMemFree_v2(managed.address) });
}
