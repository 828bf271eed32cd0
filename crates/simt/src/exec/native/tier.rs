//! Decides when a kernel is compiled, and keeps the code.
//!
//! Compiling takes from 10 ms to a few seconds, by the size of the kernel ([`worth`]), in which the interpreter executes
//! millions of warp instructions. So a kernel is compiled once it has executed as many in all its launches, or once a
//! launch's first blocks promise as many for the whole grid. The launch goes on meanwhile: one of its workers compiles, since
//! a further thread would take turns with them on the processors that they have, or, where blocks may wait for that worker's or
//! there is no other one, a thread of its own.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use super::super::program::Program;
use super::code::{Native, Prepared};
use super::emit::Key;
use super::llvm;

/// How a program's kernels are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// Interpreted first, and compiled in the background when that is worth it.
    #[default]
    Both,
    /// Interpreted.
    Interpreted,
    /// Compiled before the first block, where that is possible.
    Compiled,
}

/// Returns the number of warp instructions from which on a kernel is compiled, by the number of its instructions: about
/// what the interpreter executes while LLVM makes code of them, 0.3 ms for each.
fn worth(instructions: usize) -> u64 {
    500_000 + 10_000 * instructions as u64
}

impl Tier {
    /// Reads the variable `COALESCE_TIER`: `interpreted` or `compiled`, and [`Tier::Both`] without it.
    fn of_environment() -> Self {
        match std::env::var("COALESCE_TIER").as_deref() {
            Ok("interpreted") => Self::Interpreted,
            Ok("compiled") => Self::Compiled,
            _ => Self::Both,
        }
    }
}

/// The code of a program's kernels.
pub(in super::super) struct Tiers {
    tier: AtomicU8,
    variants: Mutex<Vec<(Key, Arc<Variant>)>>,
}

impl Default for Tiers {
    fn default() -> Self {
        Self { tier: AtomicU8::new(Tier::of_environment() as u8), variants: Mutex::default() }
    }
}

/// The code of a kernel for one kind of launch.
#[derive(Default)]
pub(in super::super) struct Variant {
    instructions: AtomicU64,
    begun: AtomicBool,
    native: OnceLock<Result<Native, String>>,
}

impl Tiers {
    pub(in super::super) fn set(&self, tier: Tier) {
        self.tier.store(tier as u8, Ordering::Relaxed);
    }

    fn tier(&self) -> Tier {
        match self.tier.load(Ordering::Relaxed) {
            1 => Tier::Interpreted,
            2 => Tier::Compiled,
            _ => Tier::Both,
        }
    }

    /// Returns the variant for a launch; None if it is to be interpreted.
    pub(in super::super) fn variant(&self, program: &Program, key: Key) -> Option<Arc<Variant>> {
        let tier = self.tier();
        let threads: u32 = key.block.iter().product();
        if tier == Tier::Interpreted || threads < 32 {
            return None;
        }
        let variant = self.known(key);
        if tier == Tier::Compiled {
            variant.compile(program, key);
        }
        Some(variant)
    }

    /// Compiles a kernel now, unless that has been done.
    ///
    /// # Errors
    /// Says why it cannot be compiled.
    pub(in super::super) fn compile(&self, program: &Program, key: Key) -> Result<(), String> {
        self.known(key).compile(program, key).as_ref().map(|_| ()).map_err(String::clone)
    }

    fn known(&self, key: Key) -> Arc<Variant> {
        let mut variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        let known = variants.iter().find(|(other, _)| *other == key).map(|(_, variant)| variant.clone());
        known.unwrap_or_else(|| {
            let variant = Arc::<Variant>::default();
            variants.push((key, variant.clone()));
            variant
        })
    }

    /// Returns why kernels could not be compiled.
    pub(in super::super) fn failures(&self) -> Vec<(u32, String)> {
        let variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |(key, variant): &(Key, Arc<Variant>)| match variant.native.get() {
            Some(Err(why)) => Some((key.function, why.clone())),
            _ => None,
        };
        variants.iter().filter_map(failed).collect()
    }
}

impl Variant {
    /// Returns the code, if it is there.
    #[inline(always)]
    pub(in super::super) fn native(&self) -> Option<&Native> {
        self.native.get().and_then(|native| native.as_ref().ok())
    }

    /// Compiles the kernel in this thread.
    fn compile(&self, program: &Program, key: Key) -> &Result<Native, String> {
        self.begun.store(true, Ordering::Relaxed);
        self.native.get_or_init(|| {
            let llvm = llvm::llvm().map_err(str::to_owned)?;
            Prepared::new(program, key, llvm)?.compile(llvm)
        })
    }

    /// Takes note of warp instructions that the interpreter has executed in this many blocks, while `left` blocks of the
    /// grid remain, and compiles the kernel if that is worth it: in this thread or in the background.
    pub(in super::super) fn interpreted(
        self: &Arc<Self>,
        program: &Program,
        key: Key,
        (instructions, blocks, left): (u64, u64, u64),
        here: bool,
    ) {
        let so_far = self.instructions.fetch_add(instructions, Ordering::Relaxed) + instructions;
        let promised = u128::from(instructions) * u128::from(left) / u128::from(blocks.max(1));
        let steps = program.function(key.function).map_or(0, |function| function.end - function.first);
        if u128::from(so_far) + promised < u128::from(worth(steps as usize))
            || self.begun.swap(true, Ordering::Relaxed)
        {
            return;
        }
        let prepared = llvm::llvm().map_err(str::to_owned).and_then(|llvm| {
            // Here, since another thread could outlive the program.
            Ok((llvm, Prepared::new(program, key, llvm)?))
        });
        match prepared {
            Err(why) => _ = self.native.set(Err(why)),
            Ok((llvm, prepared)) if here => _ = self.native.set(prepared.compile(llvm)),
            Ok((llvm, prepared)) => {
                let variant = self.clone();
                background(move || _ = variant.native.set(prepared.compile(llvm)));
            }
        }
    }
}

/// Threads that compile in the background.
static THREADS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Executes a compilation on a thread of its own.
fn background(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("compile kernel".to_owned()).spawn(work);
    // Without a thread the kernel stays interpreted.
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).extend(thread);
}

/// Waits for the compilations that launches have begun. A launch does so at its end: LLVM's destructors, which run when
/// the process exits, must not find one at work.
pub(in super::super) fn finish_compilations() {
    let threads = std::mem::take(&mut *THREADS.lock().unwrap_or_else(PoisonError::into_inner));
    for thread in threads {
        // A panic was reported when it happened.
        let _ = thread.join();
    }
}

/// Returns what compiles kernels, or why nothing does.
pub fn compiler() -> Result<String, &'static str> {
    llvm::llvm().map(llvm::Llvm::describe)
}
