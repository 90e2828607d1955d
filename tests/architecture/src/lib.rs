//! Keeps the layers, sizes and habits of the code.
