//! Conversions into updates, and the combination of several updates in a tuple, `Vec` or `Option`.

use crate::term::update::Update;

/// One or several changes to documents of type `R`: an [`Update`], a tuple, a `Vec` or an `Option`
/// of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an update of `{R}`",
    label = "expected an update operator such as `.set(..)`, or a tuple of these"
)]
pub trait IntoUpdate<R> {
    /// Combines the changes into one update.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let update: Update<Order> = (o.total().inc(1), None::<Update<Order>>).into_update();
    /// assert_eq!(update.to_string(), r#"{"$inc": {"total": 1}}"#);
    /// ```
    fn into_update(self) -> Update<R>;
}

impl<R> IntoUpdate<R> for Update<R> {
    fn into_update(self) -> Update<R> {
        self
    }
}

impl<R, U: IntoUpdate<R>> IntoUpdate<R> for Option<U> {
    fn into_update(self) -> Update<R> {
        self.map_or_else(Update::empty, IntoUpdate::into_update)
    }
}

impl<R, U: IntoUpdate<R>> IntoUpdate<R> for Vec<U> {
    fn into_update(self) -> Update<R> {
        self.into_iter().fold(Update::empty(), Update::and)
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => { $(
        impl<R, $($name: IntoUpdate<R>),+> IntoUpdate<R> for ($($name,)+) {
            fn into_update(self) -> Update<R> {
                #[allow(non_snake_case, reason = "the names of the type parameters serve as variables")]
                let ($($name,)+) = self;
                Update::empty()$(.and($name))+
            }
        }
    )* };
}

tuples! {
    A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
    A B C D E F G H I; A B C D E F G H I J; A B C D E F G H I J K; A B C D E F G H I J K L;
}
