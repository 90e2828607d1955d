//! Whole documents of models: how they are decoded, their maintained fields, and what their kind of collection cannot do.
//! Nothing here knows a collection.

pub(crate) mod decode;
pub(crate) mod kind;
pub(crate) mod maintained;
