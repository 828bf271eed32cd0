//! Launches as calls on the kernel's own type.

use cuda_std::launch::{Kernel, SafeKernel};
use cust::stream::Stream;

use crate::argument::IntoArguments;
use crate::error::LaunchError;
use crate::module::Module;
use crate::options::LaunchOptions;
use crate::scope::{InScope, Scope};

/// Launches of a kernel, as functions of its type: `naive_row::launch(&module, &stream, shape, (&source, &mut destination, nx,
/// ny))`.
///
/// The second argument but one is a [`Shape`](cuda_std::launch::Shape), or [`LaunchOptions`] for a launch with attributes. Each
/// function looks the kernel up in the module and compares its parameters. For launches that are made often, do that once with
/// [`Module::kernel`].
pub trait Launch: Kernel + Sized {
    /// Runs the kernel and waits until the stream has ended its work.
    ///
    /// # Errors
    /// The module has no such kernel, the launch breaks the kernel's contract, or the driver says that something failed.
    fn launch<'a>(
        module: &Module,
        stream: &Stream,
        options: impl Into<LaunchOptions>,
        arguments: impl IntoArguments<Self::Arguments<'a>>,
    ) -> Result<(), LaunchError>
    where
        Self: SafeKernel,
    {
        module.kernel::<Self>()?.launch(stream, options, arguments)
    }

    /// Queues the kernel behind the work of the scope's stream; see [`scope`](crate::scope()).
    ///
    /// # Errors
    /// As [`launch`](Launch::launch).
    fn enqueue<'a, 'scope, A>(
        module: &Module,
        scope: &Scope<'scope, '_>,
        options: impl Into<LaunchOptions>,
        arguments: A,
    ) -> Result<(), LaunchError>
    where
        Self: SafeKernel,
        A: IntoArguments<Self::Arguments<'a>> + InScope<'scope>,
    {
        module.kernel::<Self>()?.enqueue(scope, options, arguments)
    }

    /// Queues a launch on the stream, if it keeps the kernel's contract.
    ///
    /// # Safety
    /// Until the launch has ended, the buffers are neither freed nor, where the kernel writes them, touched by anything
    /// else, nor written where it reads them. If this is an unsafe kernel, its own `# Safety` holds.
    ///
    /// # Errors
    /// As [`launch`](Launch::launch).
    unsafe fn launch_unchecked<'a>(
        module: &Module,
        stream: &Stream,
        options: impl Into<LaunchOptions>,
        arguments: impl IntoArguments<Self::Arguments<'a>>,
    ) -> Result<(), LaunchError> {
        // SAFETY: promised by the caller.
        unsafe { module.kernel::<Self>()?.launch_unchecked(stream, options, arguments) }
    }
}

impl<K: Kernel> Launch for K {}
