//! Types of results that are stored as documents: structs with accessors, which the crate itself declares.

macro_rules! result_types {
    ($(
        $(#[$doc:meta])*
        [$($derive:path),*] $name:ident<$($t:ident),*> $fields:ident {
            $( $(#[$field_doc:meta])* $field:ident $(as $stored:literal)?: $type:ty; )*
        }
    )*) => { $(
        $(#[$doc])*
        #[derive($($derive),*)]
        #[non_exhaustive]
        pub struct $name<$($t),*> {
            $( $(#[$field_doc])* $(#[serde(rename = $stored)])? pub $field: $type, )*
        }

        #[doc = concat!("The accessors of [`", stringify!($name), "`].")]
        pub struct $fields<$($t,)* R, M>(Path<R, $name<$($t),*>, M>);

        impl<$($t: Field,)* R, M: Mode> $fields<$($t,)* R, M> {
            $(
                $(#[$field_doc])*
                pub fn $field(&self) -> <$type as Field>::Nav<R, M> {
                    <$type as Field>::nav(self.0.step($crate::values::record::stored_name!($field $($stored)?)))
                }
            )*
        }

        impl<$($t,)* R, M> Clone for $fields<$($t,)* R, M> {
            fn clone(&self) -> Self {
                $fields(self.0.clone())
            }
        }

        impl<$($t,)* R, M: Mode> AsPath for $fields<$($t,)* R, M> {
            type Root = R;
            type Value = $name<$($t),*>;
            type Mode = M;
            fn raw(&self) -> &RawPath {
                self.0.raw()
            }
        }

        impl<$($t: Field),*> Field for $name<$($t),*> {
            type Nav<R, M: Mode> = $fields<$($t,)* R, M>;
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
                $fields(path)
            }
        }

        impl<$($t,)* R, M> Inner for $fields<$($t,)* R, M> {
            type Accessors = Self;
            fn inner(&self) -> &Self {
                self
            }
        }

        impl<'de, $($t: Decode<'de>),*> Decode<'de> for $name<$($t),*> {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                let elements = value.document()?;
                Ok($name {
                    $( $field: read::find(elements, $crate::values::record::stored_name!($field $($stored)?))?, )*
                })
            }
        }

        impl<$($t: Field),*> DerivedDocument for $name<$($t),*> {}
    )* };
}

macro_rules! stored_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $stored:literal) => {
        $stored
    };
}

pub(crate) use {result_types, stored_name};
