//! Mutexes with a rank, so that no two threads can wait for each other.
//!
//! A thread takes locks in ascending order of their ranks, and holds at most one of each. Builds with
//! debug assertions check this at every lock, on each path that a test runs, also without contention.
//!
//! | rank | locks |
//! |---|---|
//! | [`Outermost`] | the order of the changes of a deployment |
//! | [`Outer`] | a session, a pool, the running check of a server, and others that may need an inner one |
//! | [`Inner`] | all others: nothing is locked while one of them is held |
//!
//! Code of the application, such as a listener or a serializer, runs without a lock
//! ([`assert_unlocked`]), and no lock is held over an await. A panic of another thread does not poison
//! a lock: no change under one can be interrupted by a panic.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// A lock that is taken before all others.
pub(crate) type Outermost<T> = Lock<T, 0>;
/// A lock that may be taken while an [`Outermost`] one is held.
pub(crate) type Outer<T> = Lock<T, 1>;
/// A lock that may be taken while others are held. Nothing is locked while it is held.
pub(crate) type Inner<T> = Lock<T, 2>;

pub(crate) type OutermostGuard<'a, T> = Guard<'a, T, 0>;
pub(crate) type OuterGuard<'a, T> = Guard<'a, T, 1>;
pub(crate) type InnerGuard<'a, T> = Guard<'a, T, 2>;

/// A mutex with a rank.
#[derive(Default)]
pub(crate) struct Lock<T, const RANK: usize>(Mutex<T>);

/// Releases the lock when dropped.
pub(crate) struct Guard<'a, T, const RANK: usize> {
    guard: MutexGuard<'a, T>,
    #[cfg(debug_assertions)]
    held: checks::Held,
}

impl<T, const RANK: usize> Lock<T, RANK> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Locks the mutex.
    ///
    /// # Panics
    /// With debug assertions, if the thread holds a lock of the same rank or of a later one.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn lock(&self) -> Guard<'_, T, RANK> {
        #[cfg(debug_assertions)]
        let held = checks::hold(RANK, std::any::type_name::<T>());
        Guard {
            guard: self.0.lock().unwrap_or_else(PoisonError::into_inner),
            #[cfg(debug_assertions)]
            held,
        }
    }
}

impl<'a, T, const RANK: usize> Guard<'a, T, RANK> {
    /// Releases the lock until another thread notifies `condition`.
    pub(crate) fn wait(self, condition: &Condvar) -> Self {
        Self {
            guard: condition.wait(self.guard).unwrap_or_else(PoisonError::into_inner),
            #[cfg(debug_assertions)]
            held: self.held,
        }
    }
}

impl<T, const RANK: usize> Deref for Guard<'_, T, RANK> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T, const RANK: usize> DerefMut for Guard<'_, T, RANK> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// Without the value, whose `Debug` could take other locks.
impl<T, const RANK: usize> fmt::Debug for Lock<T, RANK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

/// To be called before code of the application runs, and before a wait for another thread.
///
/// # Panics
/// With debug assertions, if the thread holds a lock.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn assert_unlocked() {
    #[cfg(debug_assertions)]
    checks::assert_none();
}

#[cfg(debug_assertions)]
mod checks {
    use std::cell::Cell;

    const RANKS: usize = 3;

    thread_local! {
        /// What is locked, by rank.
        static HELD: Cell<[Option<&'static str>; RANKS]> = const { Cell::new([None; RANKS]) };
    }

    /// Removes the lock from those that the thread holds when dropped.
    pub(super) struct Held(usize);

    #[track_caller]
    pub(super) fn hold(rank: usize, name: &'static str) -> Held {
        // A lock in a destructor of another thread-local value is not checked.
        let _ = HELD.try_with(|held| {
            let mut names = held.get();
            if let Some(other) = names[rank..].iter().flatten().next() {
                panic!("`{name}` is locked while the thread holds `{other}`, whose rank is not lower");
            }
            names[rank] = Some(name);
            held.set(names);
        });
        Held(rank)
    }

    #[track_caller]
    pub(super) fn assert_none() {
        let _ = HELD.try_with(|held| {
            if let Some(name) = held.get().iter().flatten().next() {
                panic!("the thread holds `{name}` while code of the application runs or it waits for another thread");
            }
        });
    }

    impl Drop for Held {
        fn drop(&mut self) {
            let _ = HELD.try_with(|held| {
                let mut names = held.get();
                names[self.0] = None;
                held.set(names);
            });
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    fn panics(run: impl FnOnce()) -> bool {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
    }

    #[test]
    fn locks_are_taken_in_the_order_of_their_ranks() {
        let (outermost, outer, inner) = (Outermost::new(1), Outer::new("two"), Inner::new('3'));
        for _ in 0..2 {
            let first = outermost.lock();
            let second = outer.lock();
            drop(inner.lock());
            let third = inner.lock();
            assert!(panics(assert_unlocked));
            // The order in which they are released is not prescribed.
            drop(first);
            drop(second);
            drop(third);
            assert_unlocked();
        }
        let held = inner.lock();
        assert!(panics(|| drop(outer.lock())));
        assert!(panics(|| drop(Inner::new(0).lock())), "two of one rank");
        drop(held);
        let held = outer.lock();
        assert!(panics(|| drop(outermost.lock())));
        drop(held);
        assert_unlocked();
    }

    #[test]
    fn a_panic_releases_the_lock_and_does_not_poison_it() {
        let lock = Outer::new(1);
        assert!(panics(|| {
            let _held = lock.lock();
            panic!("under the lock");
        }));
        assert_unlocked();
        assert_eq!(*lock.lock(), 1);
    }

    #[test]
    fn a_lock_of_another_thread_does_not_count() {
        let (outer, inner) = (Outer::new(1), Inner::new(2));
        let held = inner.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(outer.lock()));
        });
        drop(held);
    }
}
