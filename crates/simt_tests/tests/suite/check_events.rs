//! Events of a launch that nobody executes, for the checks to watch.
use std::collections::HashMap;

use simt::check::{Checks, Finding, Place, Shape, SourceLine};
use simt::internals::check::{CheckObservation, Initialisation};
use simt::observe::{Access, At, Misuse, Observation, Observer, Operation, Site, Space};

pub(crate) const SHARED: Space = Space::Shared;
pub(crate) const GLOBAL: Space = Space::Global;

#[allow(clippy::large_enum_variant, reason = "most are the large one")]
enum Event {
    Access {
        space: Space,
        operation: Operation,
        addresses: [u64; 32],
        active: u32,
        bytes: u32,
        undefined: u32,
    },
    Barrier(u64),
    WarpBarrier(u32),
    Fence(u32),
    Misuse(Misuse),
    Undefined(u32),
    /// A block ends, and with it the run of blocks if this is true.
    Ends(bool),
}

/// Events in the order in which they happen.
pub(crate) struct Events {
    checks: Checks,
    shape: Shape,
    events: Vec<(At, Event)>,
    lanes: u32,
    opcodes: HashMap<u32, &'static str>,
}

impl Events {
    pub(crate) fn new(checks: Checks, grid: [u32; 3], block: [u32; 3]) -> Self {
        let shape = Shape { grid, block };
        Self { checks, shape, events: Vec::new(), lanes: u32::MAX, opcodes: HashMap::new() }
    }

    /// The next access is of these lanes only.
    pub(crate) fn some(&mut self, lanes: u32) -> &mut Self {
        self.lanes = lanes;
        self
    }

    /// What a site's instruction is.
    pub(crate) fn opcode(&mut self, site: u32, opcode: &'static str) {
        self.opcodes.insert(site, opcode);
    }

    #[allow(clippy::too_many_arguments, reason = "that is what there is to say of an access")]
    pub(crate) fn access(
        &mut self,
        block: u64,
        warp: u32,
        site: u32,
        space: Space,
        operation: Operation,
        bytes: u32,
        address: impl Fn(u64) -> u64,
    ) {
        self.access_leaves(block, warp, site, space, operation, bytes, address, 0);
    }

    /// The same, and the lanes whose results the observer must call undefined.
    #[allow(clippy::too_many_arguments, reason = "that is what there is to say of an access")]
    pub(crate) fn access_leaves(
        &mut self,
        block: u64,
        warp: u32,
        site: u32,
        space: Space,
        operation: Operation,
        bytes: u32,
        address: impl Fn(u64) -> u64,
        undefined: u32,
    ) {
        let active = std::mem::replace(&mut self.lanes, u32::MAX);
        // Lanes that take no part have addresses that nobody may look at.
        let addresses = std::array::from_fn(|lane| match active >> lane & 1 {
            1 => address(lane as u64),
            _ => u64::MAX - 3,
        });
        let event = Event::Access { space, operation, addresses, active, bytes, undefined };
        self.push(block, warp, site, event);
    }

    pub(crate) fn barrier(&mut self, block: u64, warps: u64) {
        self.push(block, 0, 0, Event::Barrier(warps));
    }

    pub(crate) fn warp_barrier(&mut self, block: u64, warp: u32, lanes: u32) {
        self.push(block, warp, 0, Event::WarpBarrier(lanes));
    }

    pub(crate) fn fence(&mut self, block: u64, warp: u32) {
        self.fence_of(block, warp, u32::MAX);
    }

    pub(crate) fn fence_of(&mut self, block: u64, warp: u32, lanes: u32) {
        self.push(block, warp, 0, Event::Fence(lanes));
    }

    pub(crate) fn misuse(&mut self, block: u64, warp: u32, site: u32, misuse: Misuse) {
        self.push(block, warp, site, Event::Misuse(misuse));
    }

    pub(crate) fn undefined(&mut self, block: u64, warp: u32, site: u32, lanes: u32) {
        self.push(block, warp, site, Event::Undefined(lanes));
    }

    pub(crate) fn end(&mut self, block: u64) {
        self.push(block, 0, 0, Event::Ends(true));
    }

    /// Ends a block of a run that goes on with others.
    pub(crate) fn end_within_run(&mut self, block: u64) {
        self.push(block, 0, 0, Event::Ends(false));
    }

    fn push(&mut self, block: u64, warp: u32, site: u32, event: Event) {
        self.events.push((At::new(block, warp, Site(site)), event));
    }

    /// Returns the findings of the checks. One observer sees all events of a run.
    pub(crate) fn findings(self) -> Vec<Finding> {
        self.findings_with(&())
    }

    pub(crate) fn findings_with(&self, initialisation: &dyn Initialisation) -> Vec<Finding> {
        let place = |site: Site| self.place(site);
        let checks = CheckObservation::<true, true>::new(self.checks, self.shape, initialisation, &place);
        let mut observer = checks.begin(0);
        let mut ended = false;
        for (at, event) in &self.events {
            if std::mem::take(&mut ended) {
                checks.end(observer);
                observer = checks.begin(at.block);
            }
            match event {
                Event::Access { space, operation, addresses, active, bytes, undefined } => {
                    let access = Access {
                        space: *space,
                        operation: *operation,
                        addresses,
                        active: *active,
                        bytes: *bytes,
                        read_only: false,
                        past_l1: false,
                        strong: matches!(operation, Operation::Atomic | Operation::Reduction),
                    };
                    observer.access(*at, &access);
                    assert_eq!(observer.undefined_lanes(), *undefined, "{at:?}");
                }
                Event::Barrier(warps) => observer.barrier(*at, 0, *warps),
                Event::WarpBarrier(lanes) => observer.warp_barrier(*at, *lanes),
                Event::Fence(lanes) => observer.fence(*at, *lanes, true),
                Event::Misuse(misuse) => observer.misuse(*at, *misuse),
                Event::Undefined(lanes) => observer.undefined(*at, *lanes),
                Event::Ends(ends_run) => {
                    observer.block_ends(at.block);
                    ended = *ends_run;
                }
            }
        }
        checks.end(observer);
        checks.findings("kernel")
    }

    /// Site 7 is in line 7 of the PTX and line 70 of the source.
    fn place(&self, Site(site): Site) -> Place {
        Place {
            function: "kernel".to_owned(),
            ptx_line: site,
            instruction: self.opcodes.get(&site).copied().unwrap_or("ld.global.b32").to_owned(),
            source: vec![SourceLine {
                file: "src/lib.rs".to_owned(),
                line: site * 10,
                column: 5,
                function: None,
            }],
            leads_there: None,
        }
    }
}
