//! Generates books from a fixed seed, so that every run has the same data.

use std::time::{Duration, SystemTime};

use marula::{
    Model,
    bson::{DateTime, Decimal128},
};

use crate::model::{Book, Copy, Genre, Review};

const AUTHORS: [&str; 12] = [
    "Chinua Achebe",
    "Jane Austen",
    "Italo Calvino",
    "Mariama Bâ",
    "Halldór Laxness",
    "Toni Morrison",
    "Haruki Murakami",
    "Bessie Head",
    "Wisława Szymborska",
    "Virginia Woolf",
    "Naguib Mahfouz",
    "Ursula K. Le Guin",
];
const FIRST: [&str; 12] = [
    "The Last",
    "A Distant",
    "The Silent",
    "An Honest",
    "The Second",
    "A Borrowed",
    "The Hidden",
    "A Long",
    "The Red",
    "Our",
    "The Glass",
    "A Bitter",
];
const SECOND: [&str; 12] = [
    "Harvest", "River", "Archive", "Winter", "Marula", "Orchard", "Harbour", "Letter", "Station", "Garden",
    "Season", "Map",
];
const READERS: [&str; 8] = ["ada", "bola", "chen", "dina", "emil", "farah", "gus", "hana"];
const BRANCHES: [&str; 4] = ["harbour", "market", "north", "university"];

/// A linear congruential generator.
struct Random(u64);

impl Random {
    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// Generates `count` books.
pub(crate) fn generate(count: usize) -> Vec<Book> {
    let mut random = Random(2026);
    (0..count).map(|number| book(number, &mut random)).collect()
}

fn book(number: usize, random: &mut Random) -> Book {
    let day = Duration::from_secs(24 * 60 * 60);
    let added =
        SystemTime::UNIX_EPOCH + day * 19_000 + day * u32::try_from(random.below(1_500)).unwrap_or_default();
    let mut reviews: Vec<Review> = Vec::new();
    for _ in 0..random.below(4) {
        let by = random.pick(&READERS);
        if reviews.iter().all(|review| review.by != by) {
            reviews.push(Review {
                by: by.into(),
                stars: 1 + i32::try_from(random.below(5)).unwrap_or_default(),
            });
        }
    }
    Book {
        id: Book::new_id(),
        isbn: format!("978-0-{:06}-{}", 100_000 + number * 37, number % 10),
        title: format!("{} {}", random.pick(&FIRST), random.pick(&SECOND)),
        author: random.pick(&AUTHORS).into(),
        genre: random.pick(&[Genre::Novel, Genre::Poetry, Genre::Essay, Genre::Mystery]),
        price: price(495 + 50 * random.below(60)),
        copies: BRANCHES
            .iter()
            .take(1 + random.below(BRANCHES.len()))
            .map(|branch| Copy {
                branch: (*branch).into(),
                count: i32::try_from(random.below(9)).unwrap_or_default(),
            })
            .collect(),
        reviews,
        reserved_by: (random.below(5) == 0).then(|| random.pick(&READERS).into()),
        added_at: DateTime::from_system_time(added),
    }
}

fn price(cents: usize) -> Decimal128 {
    format!("{}.{:02}", cents / 100, cents % 100)
        .parse()
        .unwrap_or_else(|_| unreachable!("digits and a point"))
}
