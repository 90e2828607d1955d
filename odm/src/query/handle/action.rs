//! Macros of the actions: setters for the driver's options, and `IntoFuture`.

use crate::base::bson::Document;

/// Setters for the options of a driver's action, from the list that the driver declares them in:
/// `driver::__find_options! { forward_options { options: FindOptions } }`. Options with the mark
/// `driver` have no setter here, those with the mark `cursor` none with `without cursor`.
///
/// The field `options` holds the options, and the field `session` the session; or the field `action`
/// holds the driver's action in a `Result`; or the field `on` holds both for a pipeline. The
/// lifetime of the action is `'a`. Options that `select` and `sort` set are kept apart, so that
/// `with_options` does not replace them.
macro_rules! forward_options {
    ({ $field:ident: $Options:path $(, without $without:ident)? }
        $(
            $(#[$doc:meta])*
            $([$($mark:ident)+])? $name:ident: $kind:ident $($type:path)?
                $(= $wire:literal $(since $since:ident)?)? $(=> $method:ident)? $([needs $needs:tt])?;
        )*
    ) => {
        forward_options! { @setter $field
            /// Sets all options. Replaces those that were set before. For example, of a query:
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// use marula::driver::options::FindOptions;
            /// let options = FindOptions::default().batch_size(100).comment("report");
            /// assert_eq!(orders.find_all().with_options(options).await?.len(), 3);
            /// # Ok(()) });
            /// ```
            with_options: plain $Options
        }
        forward_options! { @filter $field [$($without)?]
            $([$($($mark)+)?] { $(#[$doc])* $name: $kind $($type)? $([needs $needs])? })*
        }
        forward_options! { @session $field
            /// Runs the action in this session, and in its transaction if one is in progress.
            /// Awaiting the action fails if the session has ended or belongs to another client, and
            /// if the write concern is unacknowledged. Default: an implicit session.
            ///
            /// ```
            /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
            /// let mut session = client.start_session().await?;
            /// orders.insert_one(&order(4)).session(&mut session).await?;
            /// assert!(orders.find_by_id(4).session(&mut session).await?.is_some());
            /// # Ok(()) });
            /// ```
        }
    };
    (@session options $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn session(mut self, session: &'a mut $crate::driver::ClientSession) -> Self {
            self.session = Some(session);
            self
        }
    };
    (@session action $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn session(mut self, session: &'a mut $crate::driver::ClientSession) -> Self {
            self.action = self.action.map(|action| action.session(session));
            self
        }
    };
    (@session on $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn session(mut self, session: &'a mut $crate::driver::ClientSession) -> Self {
            self.on.session = Some(session);
            self
        }
    };
    (@session find $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn session(mut self, session: &'a mut $crate::driver::ClientSession) -> Self {
            self.find = self.find.session(session);
            self
        }
    };
    (@filter $field:ident $without:tt) => {};
    (@filter $field:ident $without:tt [driver] $entry:tt $($rest:tt)*) => {
        forward_options! { @filter $field $without $($rest)* }
    };
    (@filter $field:ident $without:tt [driver statement] $entry:tt $($rest:tt)*) => {
        forward_options! { @filter $field $without $($rest)* }
    };
    (@filter $field:ident $without:tt [cursor driver] $entry:tt $($rest:tt)*) => {
        forward_options! { @filter $field $without $($rest)* }
    };
    (@filter $field:ident [cursor] [cursor] $entry:tt $($rest:tt)*) => {
        forward_options! { @filter $field [cursor] $($rest)* }
    };
    (@filter $field:ident $without:tt $marks:tt { $($entry:tt)* } $($rest:tt)*) => {
        forward_options! { @setter $field $($entry)* }
        forward_options! { @filter $field $without $($rest)* }
    };
    (@setter options $(#[$doc:meta])* with_options: plain $Options:path) => {
        $(#[$doc])*
        pub fn with_options(mut self, options: $Options) -> Self {
            self.options = options.__require_versions();
            self
        }
    };
    (@setter options $(#[$doc:meta])* $name:ident: $kind:ident $($type:path)? $([needs $needs:tt])?) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $crate::driver::__option_argument!($kind $($type)?)) -> Self {
            self.options = self.options.$name(value).__require_versions();
            self
        }
    };
    (@setter action $(#[$doc:meta])* with_options: plain $Options:path) => {
        $(#[$doc])*
        pub fn with_options(mut self, options: $Options) -> Self {
            self.action = self.action.map(|action| action.with_options(options.__require_versions()));
            self
        }
    };
    (@setter action $(#[$doc:meta])* $name:ident: $kind:ident $($type:path)? $([needs $needs:tt])?) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $crate::driver::__option_argument!($kind $($type)?)) -> Self {
            self.action = self.action.map(|action| action.$name(value).__require_versions());
            self
        }
    };
    (@setter find $(#[$doc:meta])* with_options: plain $Options:path) => {
        $(#[$doc])*
        pub fn with_options(mut self, options: $Options) -> Self {
            self.find = self.find.with_options(options);
            self
        }
    };
    (@setter find $(#[$doc:meta])* $name:ident: $kind:ident $($type:path)? $([needs $needs:tt])?) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $crate::driver::__option_argument!($kind $($type)?)) -> Self {
            self.find = self.find.$name(value);
            self
        }
    };
    (@setter on $(#[$doc:meta])* with_options: plain $Options:path) => {
        /// Sets all options of the call. Replaces those that were set before.
        ///
        /// ```
        /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
        /// use marula::driver::options::AggregateOptions;
        /// let options = AggregateOptions::default().allow_disk_use(true).batch_size(1_000);
        /// let sorted = orders.aggregate().sort(|o| o.total().asc()).with_options(options).all().await?;
        /// assert_eq!(sorted.len(), 3);
        /// # Ok(()) });
        /// ```
        pub fn with_options(mut self, options: $Options) -> Self {
            self.on.options = options.__require_versions();
            self
        }
    };
    (@setter on $(#[$doc:meta])* $name:ident: $kind:ident $($type:path)? $([needs $needs:tt])?) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $crate::driver::__option_argument!($kind $($type)?)) -> Self {
            self.on.options = self.on.options.$name(value).__require_versions();
            self
        }
    };
}
pub(crate) use forward_options;

/// The projection and the sort that `select` and `sort` have set: `with_options` does not replace them.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) projection: Option<Box<Document>>,
    pub(crate) sort: Option<Box<Document>>,
}

/// Sets the projection and the sort of options, or of an action of the driver.
macro_rules! with_kept {
    ($options:expr, $kept:expr) => {{
        let (mut options, kept): (_, $crate::query::handle::action::Kept) = ($options, $kept);
        if let Some(projection) = kept.projection {
            let needed = $crate::base::stage_versions::of_projection(&projection);
            options = $crate::base::stage_versions::requiring!(options, needed).projection(*projection);
        }
        $crate::query::handle::action::with_sort!(options, kept.sort)
    }};
}
pub(crate) use with_kept;

/// Sets the sort of options, or of an action of the driver, if an action of the ODM has one.
macro_rules! with_sort {
    ($options:expr, $sort:expr) => {
        match $sort {
            Some(sort) => $options.sort(*sort).__require_versions(),
            None => $options,
        }
    };
}
pub(crate) use with_sort;

/// The session that an action of the driver runs in, if any.
pub(crate) type Session<'a> = Option<&'a mut crate::driver::ClientSession>;

/// Passes a [`Session`] to an action of the driver.
macro_rules! in_session {
    ($session:expr, $action:expr) => {
        match ($session, $action) {
            (Some(session), action) => action.session(session),
            (None, action) => action,
        }
    };
}
pub(crate) use in_session;

/// `IntoFuture` of an action that has `async fn run(self)`, or a function `run` that returns a
/// future, and `fn call(&self)`, which describes the call to [`observe`](crate::observe).
///
/// A function can make the driver's future before it returns its own, which then does not contain
/// the action. The future is boxed, so that the futures of applications do not contain it.
///
/// With a model at the end, `run_upgrading` is called instead of `run` if updates upgrade the documents of the model first.
macro_rules! awaitable {
    ([$($generics:tt)*] $action:ty => $output:ty $(, upgrading $model:ident)?) => {
        impl<$($generics)*> IntoFuture for $action {
            type Output = $crate::Result<$output>;
            type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

            fn into_future(self) -> Self::IntoFuture {
                let call = self.call();
                $(
                    if const { $crate::query::write::outdated::is_upgraded::<$model>() } {
                        return Box::pin(call.observe(self.run_upgrading()));
                    }
                )?
                Box::pin(call.observe(self.run()))
            }
        }
    };
}
pub(in crate::query) use awaitable;
