//! Models and expressions that must compile.

mod buffered_types;
mod calls_are_send;
mod encrypted_attributes;
mod every_attribute;
mod generics;
mod macro_by_example;
mod names_that_clash;
mod no_implicit_prelude;
mod numbers;
mod opaque_types;
