//! Macros that declare the options of a command once. They generate the type of the options, its
//! setters, the setters of the actions, and the code that writes the options.
//!
//! The options of a command are a list in a macro of its own, which passes the list to the macro
//! that it is called with:
//!
//! ```text
//! #[doc(hidden)]
//! #[macro_export]
//! macro_rules! __count_options {
//!     ($then:path { $($arguments:tt)* }) => {
//!         $then! { { $($arguments)* }
//!             /// The index to use, by name or by keys. Default: the query planner's choice.
//!             hint: boxed $crate::options::Hint = "hint";
//!             /// Read the raw storage of the collection (MongoDB 8.2+; ignored by older servers).
//!             [driver] raw_data: plain bool = "rawData" since is_8_2;
//!             …
//!         }
//!     };
//! }
//! ```
//!
//! An entry is `[marks] name: kind type = "wireName" since predicate [needs (major, minor)];`, or
//! `[needs (major, minor, if predicate, "feature")]` where only some values need the version.
//!
//! | kind | field | setter takes |
//! |---|---|---|
//! | `plain T` | `Option<T>` | `T` |
//! | `into T` | `Option<T>` | `impl Into<T>` |
//! | `boxed T`, for a large and rare value | `Option<Box<T>>` | `impl Into<T>` |
//! | `document` | `Option<RawDocumentBuf>` | `impl IntoDocument` |
//! | `boxed_document`, for a rare document | `Option<Box<RawDocumentBuf>>` | `impl IntoDocument` |
//! | `documents` | `Option<Vec<RawDocumentBuf>>` | an iterator of `impl IntoDocument` |
//! | `read_concern`, `write_concern`, `read_preference`, `requirement` | `Option<Box<…>>` | the value |
//!
//! Fields are written in the order of the list, in the form of
//! [`WriteOption`](super::wire::WriteOption). With `since`, the field is written only if the method
//! of [`HelloReply`](crate::proto::description::HelloReply) returns `true`. `=> method` in place of
//! `= "wireName"` calls a method of the options instead. An entry with neither is written by the
//! operation, or not sent.
//!
//! With `needs`, servers before that version refuse the option. The driver sends it, and reports the
//! server's error, as the specifications' tests demand. The ODM refuses it before anything is sent:
//! its setters add the version to the option `requires`.
//!
//! Types are given by full paths, because the ODM expands the list too.
//!
//! The marks of an entry are optional: `[cursor]`, `[driver]`, `[cursor driver]`, `[statement]` or
//! `[driver statement]`. Others, and another order, are a compile error (`check_marks`).
//!
//! | mark | meaning |
//! |---|---|
//! | `cursor` | actions that return one document do not have the setter |
//! | `driver` | actions of the ODM do not have the setter: it has a typed one, or none |
//! | `statement` | the option is a field of the statement in an `update` or `delete` command |
//!
//! The first error of a value that cannot be serialized or is invalid is kept in `deferred`. A
//! later valid value does not remove it.

/// Defines the type of a command's options: `define_options { /// Documentation. pub struct
/// FindOptions; }`.
macro_rules! define_options {
    ({ $(#[$meta:meta])* $visibility:vis struct $Options:ident; }
        $(
            $(#[$doc:meta])*
            $([$($mark:ident)+])? $name:ident: $kind:ident $($type:path)?
                $(= $wire:literal $(since $since:ident)?)? $(=> $method:ident)? $([needs $needs:tt])?;
        )*
    ) => {
        $(#[$meta])*
        ///
        /// If a value cannot be serialized or is invalid, the error is returned when an action with
        /// the options is awaited, even if the option has been set again.
        ///
        /// See [`options`](crate::options) for options that several actions share.
        #[must_use = "options have no effect until they are passed to an action"]
        #[derive(Clone, Default)]
        #[non_exhaustive]
        $visibility struct $Options {
            $(pub(crate) $name: Option<$crate::api::command::declare::option_type!($kind $($type)?)>,)*
            /// The error of the first value that could not be serialized.
            pub(crate) deferred: $crate::api::command::Deferred,
        }

        $($crate::api::command::declare::check_marks! { $($($mark)+)? })*

        /// The options that are set. Documents are not shown, because they can contain values of the application.
        impl ::std::fmt::Debug for $Options {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let (options, mut shown) = (self, f.debug_struct(stringify!($Options)));
                $(if let Some(value) = &options.$name {
                    let _ = value;
                    shown.field(stringify!($name), $crate::api::command::declare::shown_option!($kind value));
                })*
                let _ = options;
                shown.finish()
            }
        }

        impl $Options {
            $($crate::api::command::declare::option_setter! { [] $(#[$doc])* $name: $kind $($type)? })*

            /// Adds the versions that the options need, which the driver leaves to the server.
            #[doc(hidden)]
            pub fn __require_versions(self) -> Self {
                let options = self;
                $($(let options = $crate::api::command::declare::require_version!(options $name $needs);)?)*
                options
            }
        }

        impl $crate::api::command::wire::WriteOptions for $Options {
            #[inline]
            fn write(
                &self,
                command: &mut $crate::proto::command::CommandBuilder<'_>,
                server: &$crate::proto::description::HelloReply,
            ) {
                let options = self;
                $($crate::api::command::declare::write_option! {
                    [$($($mark)+)?] options command server $name $(= $wire $(since $since)?)? $(=> $method)?
                })*
                let _ = (options, command, server);
            }

            #[inline]
            fn write_statement(&self, statement: &mut $crate::bson::DocumentWriter<'_>) {
                let options = self;
                $($crate::api::command::declare::write_statement_option! {
                    [$($($mark)+)?] options statement $name $(= $wire)?
                })*
                let _ = (options, statement);
            }

            fn overrides(&self) -> $crate::operation::OperationOverrides {
                let (options, mut overrides) = (self, $crate::operation::OperationOverrides::default());
                $($crate::api::command::declare::option_override! { options overrides $name: $kind })*
                let _ = (options, &mut overrides);
                overrides
            }

            #[inline]
            fn requirement(&self) -> Option<&$crate::options::ServerRequirement> {
                $($crate::api::command::declare::option_requirement! { self $name: $kind })*
                None
            }
        }
    };
}
pub(crate) use define_options;

/// What `Debug` shows of an option.
macro_rules! shown_option {
    (plain $value:ident) => {
        $value
    };
    (into $value:ident) => {
        $value
    };
    (read_concern $value:ident) => {
        $value
    };
    (write_concern $value:ident) => {
        $value
    };
    (read_preference $value:ident) => {
        $value
    };
    (requirement $value:ident) => {
        $value
    };
    ($kind:ident $value:ident) => {
        &$crate::api::command::shown::Hidden
    };
}
pub(crate) use shown_option;

/// Accepts the marks that the macros here and in the ODM match, in this order.
macro_rules! check_marks {
    ($(cursor)? $(driver)?) => {};
    ($(driver)? statement) => {};
    ($($mark:ident)*) => {
        compile_error!(concat!(
            "unsupported marks [", $(" ", stringify!($mark),)* " ]: ",
            "expected [cursor], [driver], [cursor driver], [statement] or [driver statement]"
        ));
    };
}
pub(crate) use check_marks;

/// Writes one option into the body of a command.
macro_rules! write_option {
    ([$(driver)? statement] $($entry:tt)*) => {};
    ($marks:tt $options:ident $command:ident $server:ident $name:ident) => {};
    ($marks:tt $options:ident $command:ident $server:ident $name:ident => $method:ident) => {
        $options.$method($command, $server);
    };
    ($marks:tt $options:ident $command:ident $server:ident $name:ident = $wire:literal $(since $since:ident)?) => {
        if let Some(value) = &$options.$name
            $(&& $server.$since())?
        {
            $crate::api::command::wire::WriteOption::write_in_command(value, $wire, $command);
        }
    };
}
pub(crate) use write_option;

/// Writes one option into a statement.
macro_rules! write_statement_option {
    ([$(driver)? statement] $options:ident $statement:ident $name:ident = $wire:literal) => {
        if let Some(value) = &$options.$name {
            $crate::api::command::wire::WriteOption::write(value, $wire, $statement);
        }
    };
    ($marks:tt $($entry:tt)*) => {};
}
pub(crate) use write_statement_option;

/// Notes whether a concern or the read preference is set.
macro_rules! option_override {
    ($options:ident $overrides:ident $name:ident: read_concern) => {
        $overrides.read_concern = $options.$name.is_some();
    };
    ($options:ident $overrides:ident $name:ident: write_concern) => {
        $overrides.write_concern = $options.$name.is_some();
    };
    ($options:ident $overrides:ident $name:ident: read_preference) => {
        $overrides.read_preference = $options.$name.as_ref().map(|preference| preference.is_primary());
    };
    ($options:ident $overrides:ident $name:ident: $kind:ident) => {};
}
pub(crate) use option_override;

/// Returns the requirement, if the option is one and is set.
macro_rules! option_requirement {
    ($options:ident $name:ident: requirement) => {
        if let Some(requirement) = &$options.$name {
            return Some(requirement);
        }
    };
    ($options:ident $name:ident: $kind:ident) => {};
}
pub(crate) use option_requirement;

/// Defines the setters of an action with the options in a field `options`: `option_setters {
/// FindOptions }`, or `option_setters { FindOptions without cursor }`.
macro_rules! option_setters {
    ({ $Options:ident $(without $without:ident)? }
        $(
            $(#[$doc:meta])*
            $([$($mark:ident)+])? $name:ident: $kind:ident $($type:path)?
                $(= $wire:literal $(since $since:ident)?)? $(=> $method:ident)? $([needs $needs:tt])?;
        )*
    ) => {
        /// Replaces all options, also those that setters have set before. Setters called after it
        /// change single options: `.with_options(shared).comment("nightly")`.
        pub fn with_options(mut self, options: $Options) -> Self {
            self.options = options;
            self
        }

        /// Adds the versions that the options need, which the driver leaves to the server.
        #[doc(hidden)]
        pub fn __require_versions(mut self) -> Self {
            self.options = self.options.__require_versions();
            self
        }

        $crate::api::command::declare::option_setters! { @filter [$($without)?]
            $([$($($mark)+)?] { $(#[$doc])* $name: $kind $($type)? })*
        }
    };
    (@filter [$($without:ident)?]) => {};
    (@filter [cursor] [cursor $($mark:ident)*] $entry:tt $($rest:tt)*) => {
        $crate::api::command::declare::option_setters! { @filter [cursor] $($rest)* }
    };
    (@filter [$($without:ident)?] $marks:tt { $($entry:tt)* } $($rest:tt)*) => {
        $crate::api::command::declare::option_setter! { [options] $($entry)* }
        $crate::api::command::declare::option_setters! { @filter [$($without)?] $($rest)* }
    };
}
pub(crate) use option_setters;

/// The options, with the version that one of them needs if it is set.
macro_rules! require_version {
    ($options:ident $name:ident ($major:literal, $minor:literal, if $applies:path, $feature:literal)) => {
        if $options.$name.as_ref().is_some_and(|value| $applies(value)) {
            $options.requires($crate::options::ServerRequirement::new($major, $minor, $feature))
        } else {
            $options
        }
    };
    ($options:ident $name:ident ($major:literal, $minor:literal)) => {
        if $options.$name.is_some() {
            let feature = concat!("the option `", stringify!($name), "`");
            $options.requires($crate::options::ServerRequirement::new($major, $minor, feature))
        } else {
            $options
        }
    };
}
pub(crate) use require_version;

/// The type of an option.
macro_rules! option_type {
    (plain $type:path) => { $type };
    (into $type:path) => { $type };
    (boxed $type:path) => { Box<$type> };
    (document) => { $crate::bson::RawDocumentBuf };
    (boxed_document) => { Box<$crate::bson::RawDocumentBuf> };
    (documents) => { Vec<$crate::bson::RawDocumentBuf> };
    (read_concern) => { Box<$crate::options::ReadConcern> };
    (write_concern) => { Box<$crate::options::WriteConcern> };
    (read_preference) => { Box<$crate::options::ReadPreference> };
    (requirement) => { Box<$crate::options::ServerRequirement> };
}
pub(crate) use option_type;

/// The type of a setter's argument.
#[doc(hidden)]
#[macro_export]
macro_rules! __option_argument {
    (plain $type:path) => { $type };
    (into $type:path) => { impl Into<$type> };
    (boxed $type:path) => { impl Into<$type> };
    (document) => { impl $crate::bson::IntoDocument };
    (boxed_document) => { impl $crate::bson::IntoDocument };
    (documents) => { impl IntoIterator<Item: $crate::bson::IntoDocument> };
    (read_concern) => { $crate::options::ReadConcern };
    (write_concern) => { $crate::options::WriteConcern };
    (read_preference) => { $crate::options::ReadPreference };
    (requirement) => { $crate::options::ServerRequirement };
}

/// The value that a setter stores. The error of a value that cannot be serialized is stored in
/// `$deferred`.
macro_rules! option_value {
    (plain $value:ident $name:ident $deferred:expr) => {
        $value
    };
    (into $value:ident $name:ident $deferred:expr) => {
        $value.into()
    };
    (boxed $value:ident $name:ident $deferred:expr) => {
        Box::new($value.into())
    };
    (document $value:ident $name:ident $deferred:expr) => {
        $deferred.document(stringify!($name), $value)
    };
    (boxed_document $value:ident $name:ident $deferred:expr) => {
        Box::new($deferred.document(stringify!($name), $value))
    };
    (documents $value:ident $name:ident $deferred:expr) => {
        $deferred.documents(stringify!($name), $value)
    };
    (read_concern $value:ident $name:ident $deferred:expr) => {
        Box::new($value)
    };
    (write_concern $value:ident $name:ident $deferred:expr) => {
        Box::new($value)
    };
    (read_preference $value:ident $name:ident $deferred:expr) => {{
        $deferred.check($value.validate().map_err($crate::Error::invalid_argument));
        Box::new($value)
    }};
}
pub(crate) use option_value;

/// A setter. The options are `self`, or the field of `self` in brackets.
macro_rules! option_setter {
    ([$($field:ident)?] $(#[$doc:meta])* $name:ident: requirement) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $crate::options::ServerRequirement) -> Self {
            let known = self.$($field.)?$name.take();
            self.$($field.)?$name = Some(Box::new(match known {
                Some(known) => known.or_later(value),
                None => value,
            }));
            self
        }
    };
    ([$($field:ident)?] $(#[$doc:meta])* $name:ident: $kind:ident $($type:path)?) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $crate::__option_argument!($kind $($type)?)) -> Self {
            self.$($field.)?$name = Some($crate::api::command::declare::option_value!(
                $kind value $name self.$($field.)?deferred
            ));
            self
        }
    };
}
pub(crate) use option_setter;
