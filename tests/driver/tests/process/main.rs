//! Tests that need state of the whole process: the global allocator and the counter of ObjectIds. They run one at a time.

mod allocations;
mod future_sizes;
mod object_id_counter;
