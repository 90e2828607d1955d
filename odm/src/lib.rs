//! A typed object-document mapper for MongoDB: queries, updates and indexes checked by the compiler.
