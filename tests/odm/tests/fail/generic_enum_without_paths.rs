use std::marker::PhantomData;

use marula::{Embedded, path::field::Field};

#[derive(Embedded)]
enum Change<T> {
    To(T),
    None,
}

#[derive(Embedded)]
struct Id<T>(i64, PhantomData<fn() -> T>);

fn check<T: Field>() {}

fn main() {
    check::<Id<std::path::PathBuf>>();
    check::<Change<std::path::PathBuf>>();
}
