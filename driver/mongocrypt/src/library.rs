//! Finds libmongocrypt, loads it, and checks its version.

use std::{
    env,
    ffi::{CStr, c_char},
    fmt,
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    ptr,
    sync::{Mutex, PoisonError},
};

use crate::{error::LoadError, functions::Functions};

/// The environment variable with the path of the library, or of the folder that contains it.
pub const PATH_VARIABLE: &str = "MONGOCRYPT_LIB_PATH";

/// The oldest version that is accepted: it has all functions used here, and the three types of string queries.
pub const MINIMUM_VERSION: Version = Version {
    major: 1,
    minor: 20,
    patch: 0,
};

/// The names that the system's loader is asked for.
#[cfg(target_os = "macos")]
const NAMES: [&str; 2] = ["libmongocrypt.0.dylib", "libmongocrypt.dylib"];
#[cfg(windows)]
const NAMES: [&str; 1] = ["mongocrypt.dll"];
#[cfg(not(any(target_os = "macos", windows)))]
const NAMES: [&str; 2] = ["libmongocrypt.so.0", "libmongocrypt.so"];

/// The version of libmongocrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl Version {
    /// Parses the numbers of e.g. `1.20.5` or `1.21.0-pre+20260801git0123456789`.
    fn parse(text: &str) -> Option<Self> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self {
            major: next()?,
            minor: next()?,
            patch: next()?,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// libmongocrypt, loaded. Copies refer to the same library, which remains loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Library {
    loaded: &'static Loaded,
}

struct Loaded {
    functions: Functions,
    version: Version,
    has_crypto: bool,
    path: PathBuf,
}

/// The libraries that the process has loaded.
static LOADED: Mutex<Vec<&'static Loaded>> = Mutex::new(Vec::new());

impl Library {
    /// Loads libmongocrypt: from this path, else from that in the environment variable [`PATH_VARIABLE`], else by
    /// its usual names from where the system's loader looks. A path may be that of the folder of the library.
    ///
    /// A library is loaded once; later calls return the same one.
    ///
    /// # Errors
    /// The library is not found or cannot be loaded, is older than [`MINIMUM_VERSION`], or lacks a function.
    pub fn load(path: Option<&Path>) -> Result<Self, LoadError> {
        let variable = env::var_os(PATH_VARIABLE).filter(|value| !value.is_empty());
        let candidates = match (path, &variable) {
            (Some(path), _) => candidates(path),
            (None, Some(path)) => candidates(Path::new(path)),
            (None, None) => NAMES.iter().map(PathBuf::from).collect(),
        };
        let mut tried = Vec::new();
        for candidate in candidates {
            match Self::load_file(&candidate) {
                Err(LoadError::NotFound { tried: failures }) => tried.extend(failures),
                result => return result,
            }
        }
        Err(LoadError::NotFound { tried })
    }

    /// Loads this file, or the file that the system's loader finds by this name.
    fn load_file(path: &Path) -> Result<Self, LoadError> {
        // Held while loading, so that a library is not loaded twice.
        let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = all.iter().copied().find(|loaded| loaded.path == path) {
            return Ok(Self { loaded });
        }
        let loaded = Box::leak(Box::new(Loaded::open(path)?));
        all.push(loaded);
        Ok(Self { loaded })
    }

    pub(crate) fn functions(self) -> &'static Functions {
        &self.loaded.functions
    }

    /// The version of the library.
    #[must_use]
    pub fn version(self) -> Version {
        self.loaded.version
    }

    /// Whether the library was built with cryptography. Otherwise the one of this package is used.
    #[must_use]
    pub fn has_crypto(self) -> bool {
        self.loaded.has_crypto
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("path", &self.loaded.path)
            .field("version", &self.loaded.version)
            .finish_non_exhaustive()
    }
}

impl Loaded {
    fn open(path: &Path) -> Result<Self, LoadError> {
        // SAFETY: loading runs the initializers of the library. Those of libmongocrypt and of its parts do not
        // depend on the state of the process. The system or the application names the file, as
        // for every shared library; its version is checked below.
        let library = unsafe { libloading::Library::new(path) };
        let library = library.map_err(|error| LoadError::NotFound {
            tried: vec![(path.to_owned(), error.to_string())],
        })?;
        // Never unloaded: function pointers and hooks remain valid until the process ends.
        let library = ManuallyDrop::new(library);
        let version = read_version(&library, path)?;
        if version < MINIMUM_VERSION {
            return Err(LoadError::TooOld {
                path: path.to_owned(),
                found: version,
            });
        }
        if version.major > MINIMUM_VERSION.major {
            return Err(LoadError::TooNew {
                path: path.to_owned(),
                found: version,
            });
        }
        // SAFETY: it is libmongocrypt of the version checked above, and it is never unloaded.
        let functions = unsafe { Functions::load(&library) };
        let functions = functions.map_err(|function| LoadError::MissingFunction {
            path: path.to_owned(),
            function,
        })?;
        // SAFETY: the function has no arguments and no precondition.
        let has_crypto = unsafe { (functions.is_crypto_available)() };
        Ok(Self {
            functions,
            version,
            has_crypto,
            path: path.to_owned(),
        })
    }
}

/// Reads the version first: an old library lacks functions of the table.
fn read_version(library: &libloading::Library, path: &Path) -> Result<Version, LoadError> {
    type VersionFunction = unsafe extern "C" fn(*mut u32) -> *const c_char;
    let missing = || LoadError::MissingFunction {
        path: path.to_owned(),
        function: "mongocrypt_version",
    };
    // SAFETY: the function has this signature in every release.
    let function = unsafe { library.get::<VersionFunction>(b"mongocrypt_version\0") };
    let function = function.map_err(|_| missing())?;
    // SAFETY: the length is optional: a null pointer is allowed.
    let text = unsafe { function(ptr::null_mut()) };
    if text.is_null() {
        return Err(missing());
    }
    // SAFETY: the function returns a static string that ends with a zero byte, and the pointer is not null.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    Version::parse(&text).ok_or_else(|| LoadError::UnknownVersion {
        path: path.to_owned(),
        found: text.into_owned(),
    })
}

/// The files to try for a path of the application.
fn candidates(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        NAMES.iter().map(|name| path.join(name)).collect()
    } else {
        vec![path.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        let version = |text| Version::parse(text);
        assert_eq!(version("1.20.5").unwrap().to_string(), "1.20.5");
        assert_eq!(version("1.21.0-pre+20260801gitabc"), version("1.21.0"));
        assert!(version("1.9.12") < version("1.20.0"));
        assert!(version("1.19.9").unwrap() < MINIMUM_VERSION);
        for text in ["", "1", "1.20", "x", "1..2", "1.20.x", "99999999999.0.0"] {
            assert_eq!(version(text), None, "{text}");
        }
    }

    #[test]
    fn a_missing_library_is_an_error_that_says_how_to_get_it() {
        let error = Library::load(Some(Path::new("/nonexistent/libmongocrypt.so"))).unwrap_err();
        let text = error.to_string();
        for part in [
            "/nonexistent/libmongocrypt.so",
            "1.20.0",
            PATH_VARIABLE,
            "pymongocrypt",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_file_that_is_not_the_library_is_an_error() {
        let program = env::current_exe().unwrap();
        let error = Library::load(Some(&program)).unwrap_err();
        assert!(
            error.to_string().contains(&program.display().to_string()),
            "{error}"
        );
    }
}
