use marula::Embedded;

#[derive(Embedded)]
union Number {
    whole: i64,
    broken: f64,
}

fn main() {}
