//! The tasks of both suites: names, data, and sizes for the scores.
//!
//! `transaction_two_inserts` is not specified: a unit is a transaction with two inserts. No composite
//! score contains it.

use std::{fmt, str::FromStr};

use crate::harness::data::Archive;

/// A benchmark specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Performance Benchmarking, "DriverBench".
    Driver,
    /// ODM Performance Benchmarking.
    Odm,
}

macro_rules! tasks {
    ($($task:ident $name:literal $suite:ident $archive:ident $units:literal x $bytes:literal;)*) => {
        /// A task. Its *unit* is an operation, or a file for tasks with files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "named as in the specifications, with one more")]
        pub enum Task { $($task,)* }

        impl Task {
            /// All tasks, in the order of the specifications.
            pub const ALL: &'static [Self] = &[$(Self::$task,)*];

            /// The name in arguments and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$task => $name,)* }
            }

            /// The suite that specifies it.
            #[must_use]
            pub const fn suite(self) -> Suite {
                match self { $(Self::$task => Suite::$suite,)* }
            }

            /// The archive with its data.
            #[must_use]
            pub const fn archive(self) -> Option<Archive> {
                match self { $(Self::$task => tasks!(@archive $archive),)* }
            }

            /// Number of units of an iteration in the specification.
            #[must_use]
            pub const fn units(self) -> u64 {
                match self { $(Self::$task => $units,)* }
            }

            /// Size of a unit in bytes, for the score.
            #[must_use]
            pub const fn unit_bytes(self) -> u64 {
                match self { $(Self::$task => $bytes,)* }
            }
        }
    };
    (@archive None) => { None };
    (@archive $archive:ident) => { Some(Archive::$archive) };
}

tasks! {
    FlatEncode "flat_bson_encode" Driver ExtendedBson 10_000 x 7_531;
    FlatDecode "flat_bson_decode" Driver ExtendedBson 10_000 x 7_531;
    DeepEncode "deep_bson_encode" Driver ExtendedBson 10_000 x 2_284;
    DeepDecode "deep_bson_decode" Driver ExtendedBson 10_000 x 2_284;
    FullEncode "full_bson_encode" Driver ExtendedBson 10_000 x 5_734;
    FullDecode "full_bson_decode" Driver ExtendedBson 10_000 x 5_734;

    RunCommand "run_command" Driver None 10_000 x 13;
    FindOneById "find_one_by_id" Driver Documents 10_000 x 1_622;
    SmallInsertOne "small_doc_insert_one" Driver Documents 10_000 x 275;
    LargeInsertOne "large_doc_insert_one" Driver Documents 10 x 2_731_089;

    FindMany "find_many" Driver Documents 10_000 x 1_622;
    SmallBulkInsert "small_doc_bulk_insert" Driver Documents 10_000 x 275;
    LargeBulkInsert "large_doc_bulk_insert" Driver Documents 10 x 2_731_089;
    SmallCollectionBulkWrite "small_doc_collection_bulk_write_insert" Driver Documents 10_000 x 275;
    LargeCollectionBulkWrite "large_doc_collection_bulk_write_insert" Driver Documents 10 x 2_731_089;
    SmallClientBulkWrite "small_doc_client_bulk_write_insert" Driver Documents 10_000 x 275;
    LargeClientBulkWrite "large_doc_client_bulk_write_insert" Driver Documents 10 x 2_731_089;
    MixedClientBulkWrite "small_doc_client_bulk_write_mixed" Driver Documents 10_000 x 550;
    MixedCollectionBulkWrite "small_doc_collection_bulk_write_mixed" Driver Documents 10_000 x 550;
    TransactionTwoInserts "transaction_two_inserts" Driver Documents 1_000 x 550;
    GridFsUpload "gridfs_upload" Driver Documents 1 x 52_428_800;
    GridFsDownload "gridfs_download" Driver Documents 1 x 52_428_800;

    LdjsonImport "ldjson_import" Driver Parallel 100 x 5_650_000;
    LdjsonExport "ldjson_export" Driver Parallel 100 x 5_650_000;
    GridFsMultiUpload "gridfs_multi_upload" Driver Parallel 50 x 5_242_880;
    GridFsMultiDownload "gridfs_multi_download" Driver Parallel 50 x 5_242_880;

    OdmSmallCreation "odm_small_creation" Odm FlatModels 10_000 x 250;
    OdmSmallUpdate "odm_small_update" Odm FlatModels 10_000 x 13;
    OdmSmallFind "odm_small_find" Odm FlatModels 10_000 x 250;
    OdmSmallFindForeignKey "odm_small_find_foreign_key" Odm FlatModels 10_000 x 250;
    OdmLargeCreation "odm_large_creation" Odm FlatModels 10_000 x 3_226_020;
    OdmLargeUpdate "odm_large_update" Odm FlatModels 10_000 x 13;
    OdmNestedCreation "odm_nested_creation" Odm NestedModels 10_000 x 8_000;
    OdmNestedUpdate "odm_nested_update" Odm NestedModels 10_000 x 13;
    OdmNestedFind "odm_nested_find" Odm NestedModels 10_000 x 8_000;
    OdmNestedFindArray "odm_nested_find_array" Odm NestedModels 10_000 x 8_000;
}

impl Task {
    /// Whether it uses no server.
    #[must_use]
    pub const fn is_codec_only(self) -> bool {
        matches!(
            self,
            Self::FlatEncode
                | Self::FlatDecode
                | Self::DeepEncode
                | Self::DeepDecode
                | Self::FullEncode
                | Self::FullDecode
        )
    }

    /// Size of an iteration with `units` units in bytes, for the score.
    #[must_use]
    pub const fn bytes(self, units: u64) -> u64 {
        self.unit_bytes().saturating_mul(units)
    }

    /// Number of units of an iteration with limited time or memory. 32 GB of models are too large
    /// for an in-memory server; queries on nested fields without an index take time that is
    /// quadratic in the number of units.
    #[must_use]
    pub const fn reduced_units(self, quick: bool, in_memory: bool) -> u64 {
        match self {
            Self::OdmLargeCreation | Self::OdmLargeUpdate if quick => 10,
            Self::OdmLargeCreation | Self::OdmLargeUpdate if in_memory => 100,
            Self::OdmNestedFind | Self::OdmNestedFindArray if quick => 200,
            Self::OdmNestedFind | Self::OdmNestedFindArray if in_memory => 500,
            Self::LdjsonImport | Self::LdjsonExport if quick => 10,
            _ => self.units(),
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|task| task.name() == name)
            .ok_or_else(|| format!("unknown task {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_specifications() {
        let (tweets, small, large) = (16_220_000, 2_750_000, 27_310_890);
        let sizes = [
            75_310_000,
            75_310_000,
            22_840_000,
            22_840_000,
            57_340_000,
            57_340_000, // BSON
            130_000,
            tweets,
            small,
            large, // single documents
            tweets,
            small,
            large,
            small,
            large,
            small,
            large,
            5_500_000,
            5_500_000, // many
            550_000,   // transactions
            52_428_800,
            52_428_800, // GridFS
            565_000_000,
            565_000_000,
            262_144_000,
            262_144_000, // in parallel
            2_500_000,
            130_000,
            2_500_000,
            2_500_000,
            32_260_200_000,
            130_000, // flat models
            80_000_000,
            130_000,
            80_000_000,
            80_000_000, // nested ones
        ];
        assert_eq!(Task::ALL.len(), sizes.len());
        for (task, size) in Task::ALL.iter().zip(sizes) {
            assert_eq!(task.bytes(task.units()), size, "{task}");
        }
    }

    #[test]
    fn task_names_are_distinct() {
        for task in Task::ALL {
            assert_eq!(task.name().parse(), Ok(*task));
        }
        assert_eq!("pong".parse::<Task>(), Err("unknown task pong".to_owned()));
    }

    #[test]
    fn units_are_as_specified_on_a_deployment() {
        for task in Task::ALL {
            assert_eq!(task.reduced_units(false, false), task.units(), "{task}");
            assert!(task.reduced_units(true, true) <= task.units(), "{task}");
        }
    }
}
