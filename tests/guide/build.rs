//! Writes the documentation of the derive macros to a file, whose examples this package runs.

use std::path::Path;
use std::{env, fs};

fn main() -> std::io::Result<()> {
    let source = "../../macros/src/lib.rs";
    println!("cargo::rerun-if-changed={source}");
    // Other lines become empty, so that an error, which counts from the line of the module, leads to the example in the source.
    let documentation: String = fs::read_to_string(source)?
        .lines()
        .map(|line| line.strip_prefix("///").unwrap_or_default().to_owned() + "\n")
        .collect();
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("derives.md"), documentation)
}
