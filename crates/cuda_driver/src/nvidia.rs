//! Finds, checks and binds NVIDIA's driver library.

use std::ffi::{CString, OsString, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::bind_error::{Attempt, BindError};
use crate::{Code, DriverVersion, TableError};

/// Environment variable that names the driver library; if it is set, no other library is tried.
pub const DRIVER_VARIABLE: &str = "COALESCE_DRIVER";

/// Name of the driver library on Linux.
pub const DRIVER_LIBRARY: &str = "libcuda.so.1";

/// Folders of drivers outside the loader's own configuration, in the order of search: the distributions' folders,
/// containers, Windows' Linux subsystem, and the toolkit's forward-compatibility driver.
pub const DRIVER_FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/cuda/compat",
];

/// NVIDIA's driver, bound.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nvidia {
    /// Path of the library.
    pub path: PathBuf,
    /// The newest CUDA version that the driver supports.
    pub driver_version: DriverVersion,
}

/// Loads and initialises NVIDIA's driver, and binds every `cu*` function of this process to it.
///
/// The library is the one that the environment variable `COALESCE_DRIVER` names. If that is unset or empty, it is
/// `libcuda.so.1` where the system's loader looks, then in [`DRIVER_FOLDERS`]. The toolkit's link-time stub is skipped.
/// `cuInit` is called before anything is bound, so after an error the process can still bind another driver. A second
/// call returns what the first one bound.
///
/// # Errors
///
/// [`BindError`]; each says what was tried and what to do.
pub fn bind_nvidia() -> Result<Nvidia, BindError> {
    Search::of_this_machine().bind()
}

static NVIDIA: OnceLock<Nvidia> = OnceLock::new();

/// Where to search for the library.
struct Search {
    named: Option<OsString>,
    library: &'static str,
    folders: Vec<PathBuf>,
}

impl Search {
    fn of_this_machine() -> Search {
        Search {
            named: std::env::var_os(DRIVER_VARIABLE).filter(|value| !value.is_empty()),
            library: DRIVER_LIBRARY,
            folders: DRIVER_FOLDERS.map(PathBuf::from).to_vec(),
        }
    }

    fn bind(&self) -> Result<Nvidia, BindError> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nvidia) = NVIDIA.get() {
            return Ok(nvidia.clone());
        }
        let driver = self.find()?;
        let nvidia = driver.start()?;
        let description = format!("NVIDIA's driver {} ({})", nvidia.path.display(), nvidia.driver_version);
        // SAFETY: the library is a driver (it has cuInit and answered it), so its functions have the driver
        // API's signatures, and `Driver` never unloads it.
        match unsafe { crate::bind(&|name| driver.function(name), description) } {
            Ok(_) => Ok(NVIDIA.get_or_init(|| nvidia).clone()),
            Err(TableError::AlreadyBound { current, .. }) => {
                Err(BindError::AlreadyBound { current, path: nvidia.path })
            }
            Err(TableError::NotADriver { .. }) => Err(BindError::NotADriver { path: nvidia.path }),
        }
    }

    /// Returns the first library that is a driver.
    fn find(&self) -> Result<Driver, BindError> {
        if let Some(named) = &self.named {
            let path = PathBuf::from(named);
            return match Driver::open(&path) {
                Ok(driver) => driver.checked(),
                Err(words) => Err(BindError::NotLoadable { path, words }),
            };
        }
        let mut attempts = Vec::new();
        let mut stub = None;
        for path in self.candidates() {
            match Driver::open(&path) {
                Ok(driver) => match driver.checked() {
                    Err(BindError::StubLibrary { path: found }) => {
                        attempts.push(Attempt { path, words: "the toolkit's link-time stub".to_owned() });
                        stub.get_or_insert(found);
                    }
                    outcome => return outcome,
                },
                Err(words) => attempts.push(Attempt { path, words }),
            }
        }
        Err(match stub {
            Some(path) => BindError::StubLibrary { path },
            None => BindError::NotFound { library: self.library, attempts },
        })
    }

    /// Returns the candidates. The system's loader looks up a bare name; a path is used as it is.
    fn candidates(&self) -> impl Iterator<Item = PathBuf> {
        std::iter::once(PathBuf::from(self.library))
            .chain(self.folders.iter().map(|folder| folder.join(self.library)))
    }
}

/// A loaded library, never unloaded: a driver starts threads of its own, and the table points into it.
struct Driver {
    path: PathBuf,
    handle: std::mem::ManuallyDrop<Library>,
}

impl Driver {
    /// Loads the library; the error is the loader's message.
    fn open(path: &Path) -> Result<Driver, String> {
        if path.is_absolute() && !path.exists() {
            return Err(BindError::NO_SUCH_FILE.to_owned());
        }
        // Local, so that the library's cu* symbols do not mix with the ones that this program exports.
        // SAFETY: loading runs the library's initialisers. This is what the user asked for by installing it
        // as the machine's driver, or by naming it.
        match unsafe { Library::open(Some(path.as_os_str()), RTLD_NOW | RTLD_LOCAL) } {
            Ok(library) => Ok(Driver { path: path.to_owned(), handle: std::mem::ManuallyDrop::new(library) }),
            Err(error) => Err(match std::error::Error::source(&error) {
                Some(words) => words.to_string(),
                None => error.to_string(),
            }),
        }
    }

    /// Returns this library if it has the entry points that every driver has, and is not the toolkit's stub.
    fn checked(mut self) -> Result<Driver, BindError> {
        let (Some(init), Some(_)) = (self.function("cuInit"), self.function("cuDriverGetVersion")) else {
            return Err(BindError::NotADriver { path: self.path });
        };
        if let Some(file) = file_of(init) {
            self.path = file;
        }
        match self.version() {
            Err(Code::STUB_LIBRARY) => Err(BindError::StubLibrary { path: self.path }),
            _ => Ok(self),
        }
    }

    /// Initialises the driver.
    fn start(&self) -> Result<Nvidia, BindError> {
        let version = self.version();
        let init =
            self.function("cuInit").ok_or_else(|| BindError::NotADriver { path: self.path.clone() })?;
        // SAFETY: the driver API documents `CUresult cuInit(unsigned int flags)`.
        let init =
            unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(c_uint) -> Code>(init) };
        // SAFETY: 0 is the only value that the flags may have.
        let outcome = unsafe { init(0) }.into_result().and(version);
        match outcome {
            Ok(driver_version) => Ok(Nvidia { path: self.path.clone(), driver_version }),
            Err(Code::STUB_LIBRARY) => Err(BindError::StubLibrary { path: self.path.clone() }),
            Err(code) => Err(BindError::NotStarted { path: self.path.clone(), version: version.ok(), code }),
        }
    }

    /// Returns the newest CUDA version that the driver supports; callable before the driver is initialised.
    fn version(&self) -> Result<DriverVersion, Code> {
        let function = self.function("cuDriverGetVersion").ok_or(Code::NOT_SUPPORTED)?;
        // SAFETY: the driver API documents `CUresult cuDriverGetVersion(int *version)`.
        let function = unsafe {
            std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> Code>(function)
        };
        let mut version = 0;
        // SAFETY: the pointer can be written during the call.
        unsafe { function(&raw mut version) }.into_result()?;
        Ok(DriverVersion(version))
    }

    /// Returns the address of the function with exactly this name.
    ///
    /// `cust_raw` declares the versioned names (`cuMemAlloc_v2`), so each name is its symbol, and the driver's
    /// `cuGetProcAddress`, which picks a version by CUDA release, is not needed.
    fn function(&self, name: &str) -> Option<NonNull<c_void>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the symbol is only taken as an address here.
        let symbol = unsafe { self.handle.get::<*mut c_void>(name.as_c_str()) }.ok()?;
        NonNull::new(symbol.as_raw_ptr())
    }
}

/// Returns the file from which the loader mapped this function.
fn file_of(function: NonNull<c_void>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    #[repr(C)]
    struct Info {
        file: *const std::ffi::c_char,
        base: *mut c_void,
        symbol: *const std::ffi::c_char,
        address: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, info: *mut Info) -> c_int;
    }
    let mut info = Info {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: dladdr takes any address, and writes `info`, which has the layout of the C library's `Dl_info`.
    let found = unsafe { dladdr(function.as_ptr(), &raw mut info) } != 0 && !info.file.is_null();
    found.then(|| {
        // SAFETY: dladdr found the library, so the name is a C string that lives as long as the library is
        // loaded.
        let name = unsafe { std::ffi::CStr::from_ptr(info.file) };
        let name = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
        name.canonicalize().unwrap_or_else(|_| name.to_owned())
    })
}

#[cfg(test)]
#[path = "nvidia_tests.rs"]
mod tests;
