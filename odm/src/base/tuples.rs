//! The tuples that are types of fields.

/// Calls a macro with the tuples of up to twelve items: their length, and the name and the index of each item.
macro_rules! each_tuple {
    ($implement:ident) => {
        $implement! {
            1: A 0;
            2: A 0, B 1;
            3: A 0, B 1, C 2;
            4: A 0, B 1, C 2, D 3;
            5: A 0, B 1, C 2, D 3, E 4;
            6: A 0, B 1, C 2, D 3, E 4, F 5;
            7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
            8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
            9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
            10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
            11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
            12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
        }
    };
}
pub(crate) use each_tuple;
