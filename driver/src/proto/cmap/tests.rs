//! Tests of the pool machine.
