use marula::Embedded;

#[derive(Embedded)]
struct Line<'a> {
    sku: &'a str,
}

#[derive(Embedded)]
enum Change<'a, T> {
    To(&'a T),
}

#[derive(Embedded)]
struct Text<'a, const N: usize>([&'a str; N]);

fn main() {}
