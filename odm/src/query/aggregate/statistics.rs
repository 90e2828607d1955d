//! Statistics of a collection and of its indexes: `$collStats` and `$indexStats`.

use serde::{Deserialize, Serialize};

use crate::{
    base::bson::{Bson, DateTime, DecodeError, Document, doc},
    models::model::Model,
    path::{
        AsPath, Inner, Mode, Path, RawPath,
        field::{DerivedDocument, Field},
    },
    query::{
        aggregate::{On, Pipeline},
        handle::Collection,
    },
    values::{
        codec::{Decode, Value, read},
        record::result_types,
    },
};

result_types! {
    /// The use of an index on one member: the result of [`index_stats`](crate::Collection::index_stats).
    [Clone, Debug, PartialEq, Serialize, Deserialize] IndexStats<> IndexStatsFields {
        /// The name of the index.
        name: String;
        /// The keys of the index.
        key: Document;
        /// The host and port of the member.
        host: String;
        /// The operations that have used the index.
        accesses: IndexAccesses;
    }
    /// The number of operations that have used an index.
    [Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize] IndexAccesses<> IndexAccessesFields {
        /// The number of operations since [`since`](Self::since).
        operations as "ops": i64;
        /// The start of the member, or the creation of the index.
        since: DateTime;
    }
    /// The size of a collection, or of its part on one shard: the result of
    /// [`collection_stats`](crate::Collection::collection_stats).
    [Clone, Debug, PartialEq, Serialize, Deserialize] CollectionStats<> CollectionStatsFields {
        /// The collection, as `database.collection`.
        namespace as "ns": String;
        /// The name of the shard; `None` without a sharded cluster.
        shard: Option<String>;
        /// The number of documents, from the metadata of the collection.
        count: i64;
        /// The statistics of the storage, such as `size` and `totalIndexSize` in bytes.
        storage as "storageStats": Document;
    }
}

impl<D: Model> Collection<D> {
    /// How often each index was used, on the member that replies (`$indexStats`); on a sharded cluster, on a member of
    /// each shard. It needs the privilege `indexStats`. A handle with a scope rejects it.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let unused = orders.index_stats().match_(|i| i.accesses().operations().eq(0)).await?;
    /// assert!(unused.iter().any(|index| index.name == "_id_"));
    /// # Ok(()) });
    /// ```
    #[doc(alias = "$indexStats")]
    pub fn index_stats(&self) -> Pipeline<D, IndexStats, On<'_, D>> {
        let mut pipeline = self.aggregate().stage("$indexStats", Ok(doc! {}.into()));
        pipeline.stages.marks.note_no_values();
        pipeline.then()
    }

    /// The number of documents and the statistics of the storage, also those of soft-deleted documents (`$collStats`);
    /// on a sharded cluster, of each shard. It needs the privilege `collStats`. A handle with a scope rejects it.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let stats = orders.collection_stats().await?;
    /// assert_eq!(stats[0].count, 3);
    /// assert!(stats[0].storage.contains_key("size"));
    /// # Ok(()) });
    /// ```
    #[doc(alias = "$collStats")]
    pub fn collection_stats(&self) -> Pipeline<D, CollectionStats, On<'_, D>> {
        let argument = Bson::from(doc! { "count": {}, "storageStats": {} });
        let mut pipeline = self.aggregate().stage("$collStats", Ok(argument));
        pipeline.stages.marks.note_no_values();
        pipeline.then()
    }
}
