//! Finds, unpacks and reads the archives of the specifications, which are not part of this
//! repository.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::harness::Failure;

/// An archive of the specifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Archive {
    /// FLAT_BSON, DEEP_BSON and FULL_BSON.
    ExtendedBson,
    /// TWEET, SMALL_DOC, LARGE_DOC and GRIDFS_LARGE.
    Documents,
    /// LDJSON_MULTI and GRIDFS_MULTI.
    Parallel,
    /// The small and the large model of the ODM suite.
    FlatModels,
    /// The nested model of the ODM suite.
    NestedModels,
}

impl Archive {
    /// The name of the file, without `.tgz`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ExtendedBson => "extended_bson",
            Self::Documents => "single_and_multi_document",
            Self::Parallel => "parallel",
            Self::FlatModels => "flat_models",
            Self::NestedModels => "nested_models",
        }
    }

    /// The folder of the files in the archive.
    const fn folder(self) -> &'static str {
        match self {
            Self::FlatModels => "flat-models",
            Self::NestedModels => "nested-models",
            _ => self.name(),
        }
    }
}

/// The environment variable with the folder of the archives.
pub const VARIABLE: &str = "BENCH_DATA_DIR";

/// The folder of the archives: [`VARIABLE`], or `../shared/bench-data` relative to the workspace.
///
/// # Errors
/// If the folder does not exist. The message says how to get the archives.
pub fn archives(checkout: &Path) -> Result<PathBuf, Failure> {
    let named = env::var_os(VARIABLE).map(PathBuf::from);
    let folder = named.unwrap_or_else(|| checkout.join("../shared/bench-data"));
    if folder.is_dir() {
        return Ok(folder);
    }
    let text = format!(
        "{} is not a folder: set {VARIABLE} to a folder with the archives of source/benchmarking/{{data,odm-data}} of \
         github.com/mongodb/specifications",
        folder.display()
    );
    Err(text.into())
}

/// The unpacked data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    root: PathBuf,
}

impl Data {
    /// The data in a folder, into which [`unpack`](Self::unpack) unpacks.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The folder of the unpacked data.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Unpacks an archive with `tar`, unless it is unpacked already.
    ///
    /// # Errors
    /// If the archive does not exist or `tar` fails.
    pub fn unpack(&self, archives: &Path, archive: Archive) -> Result<(), Failure> {
        let whole = self.root.join(archive.name());
        if whole.is_dir() {
            return Ok(());
        }
        let file = archives.join(archive.name()).with_extension("tgz");
        if !file.is_file() {
            return Err(format!("file not found: {}", file.display()).into());
        }
        // Renamed when complete, so that a partly unpacked archive is not used after an
        // interruption.
        let part = self.root.join(format!("{}.part", archive.name()));
        if part.exists() {
            fs::remove_dir_all(&part)?;
        }
        fs::create_dir_all(&part)?;
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&file).arg("-C").arg(&part);
        let output = tar.output().map_err(|error| format!("tar: {error}"))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{tar:?}: {}: {}", output.status, stderr.trim()).into());
        }
        fs::rename(part, whole)?;
        Ok(())
    }

    /// The path of a file or folder of an archive.
    #[must_use]
    pub fn path(&self, archive: Archive, name: &str) -> PathBuf {
        self.root.join(archive.name()).join(archive.folder()).join(name)
    }

    /// Reads a text file of an archive.
    ///
    /// # Errors
    /// If it cannot be read. The message contains the path.
    pub fn text(&self, archive: Archive, name: &str) -> Result<String, Failure> {
        let path = self.path(archive, name);
        Ok(fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// The first `wanted` files of a folder of an archive, sorted by name, without hidden files.
    ///
    /// # Errors
    /// If there are fewer files, or the folder cannot be read.
    pub fn files(&self, archive: Archive, folder: &str, wanted: u64) -> Result<Vec<PathBuf>, Failure> {
        let path = self.path(archive, folder);
        let describe = |error| format!("{}: {error}", path.display());
        let mut files = Vec::new();
        for entry in fs::read_dir(&path).map_err(describe)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                files.push(entry.path());
            }
        }
        files.sort();
        let wanted = usize::try_from(wanted)?;
        if files.len() < wanted {
            return Err(format!(
                "{}: expected {wanted} files, found {}",
                path.display(),
                files.len()
            )
            .into());
        }
        files.truncate(wanted);
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("marula-bench-data-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn pack(folder: &Path, archive: Archive, files: &[(&str, &str)]) {
        let source = folder.join("source").join(archive.folder());
        for (name, text) in files {
            let path = source.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let file = folder.join(archive.name()).with_extension("tgz");
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(file).arg("-C").arg(folder.join("source"));
        assert!(tar.arg(archive.folder()).status().unwrap().success());
    }

    #[test]
    fn archives_are_unpacked_once_and_read() {
        let folder = Folder::new("once");
        let files = [
            ("ldjson_multi/b.txt", "2"),
            ("ldjson_multi/a.txt", "1"),
            ("ldjson_multi/._a.txt", "?"),
        ];
        pack(&folder.0, Archive::Parallel, &files);
        pack(&folder.0, Archive::FlatModels, &[("small_doc.json", "{}")]);
        let data = Data::new(folder.0.join("unpacked"));
        for archive in [Archive::Parallel, Archive::FlatModels, Archive::Parallel] {
            data.unpack(&folder.0, archive).unwrap();
        }
        assert_eq!(data.text(Archive::FlatModels, "small_doc.json").unwrap(), "{}");
        let found = |wanted| data.files(Archive::Parallel, "ldjson_multi", wanted);
        let names: Vec<_> = found(2)
            .unwrap()
            .iter()
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        assert_eq!(names, ["1", "2"]);
        assert!(
            found(3)
                .unwrap_err()
                .to_string()
                .ends_with("expected 3 files, found 2")
        );
    }

    #[test]
    fn errors_name_the_missing_or_invalid_file() {
        let folder = Folder::new("missing");
        let data = Data::new(folder.0.join("unpacked"));
        let error = data
            .unpack(&folder.0, Archive::Documents)
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("single_and_multi_document.tgz"), "{error}");
        fs::write(folder.0.join("parallel.tgz"), "not an archive").unwrap();
        let error = data.unpack(&folder.0, Archive::Parallel).unwrap_err().to_string();
        assert!(error.contains("tar"), "{error}");
        assert!(!folder.0.join("unpacked/parallel").exists());
        let error = data
            .text(Archive::Documents, "tweet.json")
            .unwrap_err()
            .to_string();
        assert!(error.contains("tweet.json: "), "{error}");
    }
}
