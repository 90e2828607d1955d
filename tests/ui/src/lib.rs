//! Compile-pass and compile-fail cases of the derives and typed operators.
