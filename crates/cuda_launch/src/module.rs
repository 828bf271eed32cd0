//! Loaded modules that know the parameters of their entry points, and kernels found in them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use cuda_driver::ext;
use cuda_std::launch::{Cluster, Kernel, SafeKernel, Wire};
use cust::function::Function;
use cust::stream::Stream;
use ptx::outline::Outline;

use crate::argument::IntoArguments;
use crate::error::LaunchError;
use crate::options::LaunchOptions;
use crate::scope::{InScope, Scope};

/// The parameters and clusters of each entry point of a PTX text, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signatures(BTreeMap<String, Entry>);

/// What PTX says of an entry point before its body.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    parameters: Vec<Declared>,
    /// The blocks of its clusters, where it names them.
    cluster: Option<[u32; 3]>,
}

/// A parameter as PTX declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Declared {
    bytes: usize,
    float: bool,
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bytes, self.float) {
            (bytes, true) => write!(f, "f{}", bytes * 8),
            (bytes @ (1 | 2 | 4 | 8), false) => write!(f, "b{}", bytes * 8),
            (bytes, false) => write!(f, "{bytes} bytes"),
        }
    }
}

impl From<Wire> for Declared {
    fn from(wire: Wire) -> Self {
        Self { bytes: wire.bytes, float: wire.float }
    }
}

fn list(parameters: &[Declared]) -> String {
    parameters.iter().map(Declared::to_string).collect::<Vec<_>>().join(", ")
}

impl Signatures {
    /// Reads the entry points of a PTX text. Leaves out what it cannot read: the driver is the one to refuse it.
    #[must_use]
    pub fn of(ptx: &str) -> Self {
        let outline = Outline::of(ptx);
        let heads = outline.items.iter().filter(|item| item.is_entry());
        let heads = heads.filter_map(|item| item.declaration().ok());
        Self(heads.filter_map(|head| Some((head.name.to_string(), Entry::of(&head)?))).collect())
    }

    /// The names of the entry points, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is an entry point of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Compares the kernel of this name with the kernel `K`.
    ///
    /// # Errors
    /// There is none of this name, or it has other parameters or clusters.
    pub fn check<K: Kernel>(&self) -> Result<(), LaunchError> {
        let kernel = K::NAME;
        let Some(found) = self.0.get(kernel) else {
            let names: Vec<&String> = self.0.keys().collect();
            let nearest = nearest::alike(kernel, &names).first().map(|name| (*name).to_owned());
            return Err(LaunchError::Missing { kernel, nearest });
        };
        let parameters = K::parameters();
        let needed: Vec<Declared> =
            parameters.iter().flat_map(|parameter| &parameter.wires).map(|&wire| wire.into()).collect();
        if needed == found.parameters {
            let own = K::cluster().map(Cluster::blocks);
            return if own == found.cluster {
                Ok(())
            } else {
                Err(LaunchError::StaleCluster { kernel, found: found.cluster, needed: own })
            };
        }
        let source: Vec<String> =
            parameters.iter().map(|parameter| format!("{}: {}", parameter.name, parameter.ty)).collect();
        Err(LaunchError::Stale {
            kernel,
            found: list(&found.parameters),
            needed: list(&needed),
            source_text: source.join(", "),
        })
    }
}

impl Entry {
    /// What a head says; `None` for a parameter without a size.
    fn of(head: &ptx::Function) -> Option<Self> {
        let declared = |parameter: &ptx::Parameter| {
            let bytes = parameter.size()?.try_into().ok()?;
            Some(Declared { bytes, float: parameter.scalar.word().starts_with('f') })
        };
        let parameters = head.parameters.iter().map(declared).collect::<Option<_>>()?;
        // Of the numbers, the last may be missing.
        let cluster = head.directive("reqnctapercluster").map(|numbers| {
            let mut cluster = [1; 3];
            cluster.iter_mut().zip(numbers).for_each(|(axis, number)| *axis = *number);
            cluster
        });
        Some(Self { parameters, cluster })
    }
}

/// A module on the device, whose kernels are compared with the program's before they are launched.
#[derive(Debug)]
pub struct Module {
    module: cust::module::Module,
    signatures: Option<Signatures>,
}

impl Module {
    /// Loads a PTX text.
    ///
    /// # Errors
    /// The driver does not load it.
    pub fn from_ptx(ptx: &str) -> Result<Self, LaunchError> {
        let module = cust::module::Module::from_ptx(ptx, &[])?;
        Ok(Self { module, signatures: Some(Signatures::of(ptx)) })
    }

    /// A module that was loaded from something else than PTX: the parameters of its kernels cannot be compared.
    ///
    /// # Safety
    /// The module's kernels have the parameters of the program's kernels of the same names.
    #[must_use]
    pub unsafe fn from_cust(module: cust::module::Module) -> Self {
        Self { module, signatures: None }
    }

    /// The module as `cust` has it.
    #[must_use]
    pub fn cust(&self) -> &cust::module::Module {
        &self.module
    }

    /// The parameters of the module's kernels; `None` for a module that was not loaded from PTX.
    #[must_use]
    pub fn signatures(&self) -> Option<&Signatures> {
        self.signatures.as_ref()
    }

    /// Finds a kernel and compares its parameters with the program's.
    ///
    /// # Errors
    /// The module has no kernel of this name, or one with other parameters.
    pub fn kernel<K: Kernel>(&self) -> Result<Loaded<'_, K>, LaunchError> {
        if let Some(signatures) = &self.signatures {
            signatures.check::<K>()?;
        }
        // SAFETY: the parameters were compared, or the module's maker promised it.
        Ok(unsafe { Loaded::new(self.module.get_function(K::NAME)?) })
    }
}

/// The kernel `K` of a module.
pub struct Loaded<'m, K> {
    function: Function<'m>,
    kernel: PhantomData<fn() -> K>,
}

impl<K: Kernel> fmt::Debug for Loaded<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel {}", K::NAME)
    }
}

impl<'m, K: Kernel> Loaded<'m, K> {
    /// A function that was found by other ways.
    ///
    /// # Safety
    /// It has the parameters of the kernel `K`, and does with them what `K` does.
    #[must_use]
    pub unsafe fn new(function: Function<'m>) -> Self {
        Self { function, kernel: PhantomData }
    }

    /// The function as `cust` has it.
    #[must_use]
    pub fn function(&self) -> &Function<'m> {
        &self.function
    }

    /// Queues a launch on the stream, if it keeps the kernel's contract.
    ///
    /// # Safety
    /// Until the launch has ended, the buffers are neither freed nor, where the kernel writes them, touched by anything
    /// else, nor written where it reads them. If `K` is an unsafe kernel, its own `# Safety` holds.
    ///
    /// # Errors
    /// The launch breaks the contract, or the driver refuses it.
    pub unsafe fn launch_unchecked<'a>(
        &self,
        stream: &Stream,
        options: impl Into<LaunchOptions>,
        arguments: impl IntoArguments<K::Arguments<'a>>,
    ) -> Result<(), LaunchError> {
        // SAFETY: promised by the caller; the function has the parameters of `K`.
        unsafe { launch::<K>(&self.function, stream, options.into(), arguments.into_arguments()) }
    }
}

impl<K: SafeKernel> Loaded<'_, K> {
    /// Runs the kernel and waits until the stream has ended its work.
    ///
    /// # Errors
    /// The launch breaks the contract, or the driver refuses it or says that the kernel failed.
    pub fn launch<'a>(
        &self,
        stream: &Stream,
        options: impl Into<LaunchOptions>,
        arguments: impl IntoArguments<K::Arguments<'a>>,
    ) -> Result<(), LaunchError> {
        // SAFETY: the buffers are borrowed until the stream has ended its work.
        let launched = unsafe { self.launch_unchecked(stream, options, arguments) };
        launched?;
        Ok(stream.synchronize()?)
    }

    /// Queues the kernel behind the work of the scope's stream.
    ///
    /// # Errors
    /// The launch breaks the contract, or the driver refuses it.
    pub fn enqueue<'a, 'scope, A>(
        &self,
        scope: &Scope<'scope, '_>,
        options: impl Into<LaunchOptions>,
        arguments: A,
    ) -> Result<(), LaunchError>
    where
        A: IntoArguments<K::Arguments<'a>> + InScope<'scope>,
    {
        // SAFETY: what the scope lends stays until its stream has ended its work, and is used on this stream alone.
        unsafe { self.launch_unchecked(scope.stream(), options, arguments) }
    }
}

/// Launches a function as the kernel `K`, if the launch keeps the contract.
///
/// # Safety
/// The function has the parameters of `K`; the rest as for [`Loaded::launch_unchecked`].
unsafe fn launch<K: Kernel>(
    function: &Function<'_>,
    stream: &Stream,
    options: LaunchOptions,
    arguments: K::Arguments<'_>,
) -> Result<(), LaunchError> {
    let (words, shape) = K::pass(arguments, options.shape)?;
    let cluster = cluster::<K>(&options)?;
    let mut pointers = words.pointers();
    if options.is_plain() && K::cluster().is_none() {
        let ([x, y, z], [bx, by, bz]) = (shape.grid, shape.block);
        // SAFETY: promised by the caller; the pointers are to values of the parameters' types, which live through the call.
        unsafe { stream.launch(function, (x, y, z), (bx, by, bz), shape.shared, &pointers)? };
        return Ok(());
    }
    let config = ext::LaunchConfig {
        cluster: cluster.map(Cluster::blocks),
        cooperative: options.cooperative,
        overlaps_predecessor: options.overlaps,
        priority: options.priority,
        ..ext::LaunchConfig::new(shape.grid, shape.block, shape.shared, stream.as_inner())
    };
    // SAFETY: as above.
    unsafe { ext::launch(function.to_raw(), &config, &mut pointers) }.map_err(|error| {
        LaunchError::Attributes { kernel: K::NAME, cluster: cluster.or(K::cluster()), error }
    })
}

/// The clusters that the launch asks the driver for; none if the kernel says them itself.
fn cluster<K: Kernel>(options: &LaunchOptions) -> Result<Option<Cluster>, LaunchError> {
    let Some(asked) = options.cluster else { return Ok(None) };
    match K::cluster() {
        None => {
            asked.check(K::NAME, &options.shape)?;
            Ok(Some(asked))
        }
        Some(own) if own == asked => Ok(None),
        Some(own) => Err(LaunchError::OtherCluster { kernel: K::NAME, own, asked }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry copy(
	.param .u64 .ptr .align 1 copy_param_0,
	.param .u64 copy_param_1,
	.param .f32 copy_param_2
)
.maxntid 256
{
	ret;
}
.visible .entry pair(
	.param .align 4 .b8 pair_param_0[8]
) { ret; }
.visible .entry none()
.explicitcluster
.reqnctapercluster 2, 4
.maxntid 128
{ ret; }
";

    #[test]
    fn entry_points_are_read_with_their_parameters() {
        let Signatures(all) = Signatures::of(PTX);
        let of = |name: &str| list(&all[name].parameters);
        assert_eq!(of("copy"), "b64, b64, f32");
        assert_eq!(of("pair"), "b64");
        assert_eq!(of("none"), "");
        assert_eq!(all.len(), 3);
        assert_eq!(["copy", "pair", "none"].map(|name| all[name].cluster), [None, None, Some([2, 4, 1])]);
        let signatures = Signatures::of(PTX);
        assert_eq!(signatures.names().collect::<Vec<_>>(), ["copy", "none", "pair"]);
        assert!(signatures.has("pair") && !signatures.has("pai"));
    }
}
