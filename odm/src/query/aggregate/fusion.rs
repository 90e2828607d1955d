//! Stages that make one list of the documents of several pipelines: `$rankFusion` and `$scoreFusion`.

use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    models::model::Model,
    path::Types,
    query::{aggregate::Pipeline, handle::marks::Marks},
    term::expr::Raw,
};

/// The stages that a pipeline of a fusion can have: those that leave the documents as they are.
const ALLOWED: [&str; 8] = [
    "$geoNear",
    "$limit",
    "$match",
    "$sample",
    "$search",
    "$skip",
    "$sort",
    "$vectorSearch",
];

/// The named pipelines of a fusion.
struct Inputs {
    stage: &'static str,
    pipelines: Result<Document, Box<Error>>,
    weights: Document,
    marks: Marks,
    score_details: bool,
}

impl Inputs {
    fn new(stage: &'static str) -> Self {
        Inputs {
            stage,
            pipelines: Ok(Document::new()),
            weights: Document::new(),
            marks: Marks::default(),
            score_details: false,
        }
    }

    fn add<S: Model>(
        &mut self,
        name: &str,
        weight: Option<f64>,
        pipeline: impl FnOnce(Pipeline<S>) -> Pipeline<S>,
    ) {
        let mut stages = pipeline(Pipeline::new()).into_stages();
        self.marks.add(std::mem::take(&mut stages.marks), None);
        let Ok(pipelines) = &mut self.pipelines else {
            return;
        };
        let stages = stages.fused(self.stage).and_then(|stages| {
            check_name(name, pipelines)?;
            check_weight(name, weight)?;
            check_stages(self.stage, name, &stages)?;
            Ok(stages)
        });
        match stages {
            Ok(stages) => {
                pipelines.insert(name, stages);
                if let Some(weight) = weight {
                    self.weights.insert(name, weight);
                }
            }
            Err(error) => self.pipelines = Err(error),
        }
    }

    fn into_argument(self, normalization: Option<&str>, method: Option<&str>) -> Raw {
        let pipelines = self.pipelines?;
        if pipelines.is_empty() {
            return Err(invalid(self.stage, "a fusion needs a pipeline"));
        }
        let mut input = doc! { "pipelines": pipelines };
        if let Some(normalization) = normalization {
            input.insert("normalization", normalization);
        }
        let mut combination = Document::new();
        if !self.weights.is_empty() {
            combination.insert("weights", self.weights);
        }
        if let Some(method) = method {
            combination.insert("method", method);
        }
        let mut argument = doc! { "input": input };
        if !combination.is_empty() {
            argument.insert("combination", combination);
        }
        if self.score_details {
            argument.insert("scoreDetails", true);
        }
        Ok(argument.into())
    }
}

fn invalid(path: &str, reason: impl Into<String>) -> Box<Error> {
    Box::new(Error::pipeline(path.replace('\0', ""), reason))
}

fn check_name(name: &str, pipelines: &Document) -> Result<(), Box<Error>> {
    if name.is_empty() || name.starts_with('$') || name.contains(['.', '\0']) {
        return Err(invalid(
            name,
            "the name of a pipeline is not empty, does not begin with `$`, and contains no dot and no NUL",
        ));
    }
    if pipelines.contains_key(name) {
        return Err(invalid(name, "two pipelines have this name"));
    }
    Ok(())
}

fn check_weight(name: &str, weight: Option<f64>) -> Result<(), Box<Error>> {
    match weight {
        Some(weight) if !weight.is_finite() || weight < 0.0 => Err(invalid(
            name,
            "the weight of a pipeline is a number that is not negative",
        )),
        _ => Ok(()),
    }
}

/// Rejects stages that the server rejects: those that change the documents, and pipelines without ranks or scores.
fn check_stages(stage: &str, name: &str, stages: &[Document]) -> Result<(), Box<Error>> {
    let mut names = stages.iter().flat_map(Document::keys);
    if let Some(other) = names.find(|own| !ALLOWED.contains(&own.as_str())) {
        let reason =
            format!("`{other}` is not a stage of a pipeline of `{stage}`, whose documents stay as they are");
        return Err(invalid(name, reason));
    }
    let is_scored = match stages.first().and_then(|stage| stage.iter().next()) {
        Some((first, argument)) => match (first.as_str(), argument) {
            ("$search" | "$vectorSearch" | "$geoNear", _) => true,
            ("$match", Bson::Document(filter)) => filter.contains_key("$text"),
            _ => false,
        },
        None => false,
    };
    let has_sort = stages.iter().any(|stage| stage.contains_key("$sort"));
    match stage {
        "$rankFusion" if !is_scored && !has_sort => Err(invalid(
            name,
            "a pipeline of `$rankFusion` orders its documents: it begins with a search, or has a `sort`",
        )),
        "$scoreFusion" if !is_scored => Err(invalid(
            name,
            "a pipeline of `$scoreFusion` scores its documents: it begins with a search",
        )),
        _ => Ok(()),
    }
}

/// The pipelines of [`Pipeline::rank_fusion`].
#[must_use = "the closure returns the fusion"]
pub struct RankFusion<S> {
    inputs: Inputs,
    model: Types<S>,
}

/// The pipelines of [`Pipeline::score_fusion`].
#[must_use = "the closure returns the fusion"]
pub struct ScoreFusion<S> {
    inputs: Inputs,
    model: Types<S>,
}

/// How [`Pipeline::score_fusion`] makes the scores of several pipelines comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Normalization {
    /// Leaves the scores as they are.
    None,
    /// Applies the sigmoid function, with results between 0 and 1.
    Sigmoid,
    /// Divides the distance from the least score by that of the greatest, with results from 0 to 1.
    MinMaxScaler,
}

impl Normalization {
    fn name(self) -> &'static str {
        match self {
            Normalization::None => "none",
            Normalization::Sigmoid => "sigmoid",
            Normalization::MinMaxScaler => "minMaxScaler",
        }
    }
}

macro_rules! inputs {
    ($($fusion:ident: $call:literal;)*) => { $(
        impl<S: Model> $fusion<S> {
            /// Adds a pipeline with the weight 1. The closure adds stages to it: `search`, `vector_search`, `match_`, `sort`, `limit`,
            /// `skip` and `sample`. Another stage, a pipeline without an order or scores, and a second pipeline of the same name are
            /// errors. A name is not empty, does not begin with `$`, and contains no dot.
            ///
            /// ```
            /// # use marula_guide::*;
            /// use marula::aggregate::*;
            #[doc = concat!("let found = Pipeline::<Order>::new().", $call)]
            ///     f.pipeline("words", |p| p.search(|o| search::text(o.note(), "tea")).limit(20))
            /// });
            /// # drop(found);
            /// ```
            pub fn pipeline(mut self, name: &str, pipeline: impl FnOnce(Pipeline<S>) -> Pipeline<S>) -> Self {
                self.inputs.add(name, None, pipeline);
                self
            }

            /// Adds a pipeline with a weight, by which its part of the score is multiplied: a number that is not negative.
            ///
            /// ```
            /// # use marula_guide::*;
            /// use marula::aggregate::*;
            #[doc = concat!("let found = Pipeline::<Order>::new().", $call)]
            ///     f.weighted("words", 2.0, |p| p.search(|o| search::text(o.note(), "tea")).limit(20))
            /// });
            /// # drop(found);
            /// ```
            pub fn weighted(
                mut self,
                name: &str,
                weight: impl Into<f64>,
                pipeline: impl FnOnce(Pipeline<S>) -> Pipeline<S>,
            ) -> Self {
                self.inputs.add(name, Some(weight.into()), pipeline);
                self
            }

            /// Computes how the scores were obtained, for [`fusion_score_details`](crate::search::fusion_score_details).
            ///
            /// ```
            /// # use marula_guide::*;
            /// use marula::aggregate::*;
            #[doc = concat!("let found = Pipeline::<Order>::new().", $call)]
            ///     f.pipeline("words", |p| p.search(|o| search::text(o.note(), "tea")).limit(20)).score_details()
            /// });
            /// # drop(found);
            /// ```
            pub fn score_details(mut self) -> Self {
                self.inputs.score_details = true;
                self
            }
        }
    )* };
}
inputs! {
    RankFusion: "rank_fusion(|f| {";
    ScoreFusion: "score_fusion(Normalization::Sigmoid, |f| {";
}

impl<In, S: Model, C> Pipeline<In, S, C> {
    /// The documents of several pipelines over the collection in one list, by their ranks in each (`$rankFusion`, MongoDB 8.0+): the
    /// first stage of a pipeline. The closure adds the pipelines. The score is [`fusion_score`](crate::search::fusion_score): the sum of `weight / (60 + rank)`.
    ///
    /// Soft-deleted documents and those of other kinds are left out after the pipelines, whose limits contain them. A handle with a
    /// scope rejects the stage.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// use marula::aggregate::VectorSearch;
    /// use marula::search::text;
    /// # #[derive(Document)]
    /// # #[document(collection = "books")]
    /// # struct Book { _id: i64, title: String, plot: Vec<f32> }
    /// let plot = [0.5, 0.25];
    /// let found = Pipeline::<Book>::new().rank_fusion(|f| {
    ///     f.weighted("words", 2.0, |p| p.search(|b| text(b.title(), "copper")).limit(20)).pipeline("meaning", |p| {
    ///         p.vector_search(VectorSearch::<Book>::new("plots", |b| b.plot(), plot, 20).candidates(400))
    ///     })
    /// });
    /// assert_eq!(
    ///     found.to_string(),
    ///     concat!(
    ///         r#"[{"$rankFusion": {"input": {"pipelines": {"#,
    ///         r#""words": [{"$search": {"text": {"query": "copper", "path": "title"}}}, {"$limit": 20}], "#,
    ///         r#""meaning": [{"$vectorSearch": {"index": "plots", "path": "plot", "queryVector": [0.5, 0.25], "#,
    ///         r#""limit": 20, "numCandidates": 400}}]}}, "combination": {"weights": {"words": 2.0}}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$rankFusion")]
    pub fn rank_fusion(mut self, pipelines: impl FnOnce(RankFusion<S>) -> RankFusion<S>) -> Self {
        let mut fusion = pipelines(RankFusion {
            inputs: Inputs::new("$rankFusion"),
            model: PhantomData,
        });
        let marks = std::mem::take(&mut fusion.inputs.marks);
        self.stages.marks.add(marks, None);
        self.stage("$rankFusion", fusion.inputs.into_argument(None, None))
    }

    /// The documents of several pipelines over the collection in one list, by their scores in each (`$scoreFusion`, MongoDB 8.2+): the
    /// first stage of a pipeline. The closure adds the pipelines. The score is [`fusion_score`](crate::search::fusion_score): the
    /// average of the normalized scores.
    ///
    /// Soft-deleted documents and those of other kinds are left out after the pipelines, whose limits contain them. A handle with a
    /// scope rejects the stage.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Normalization;
    /// use marula::search::text;
    /// let found = Pipeline::<Order>::new().score_fusion(Normalization::Sigmoid, |f| {
    ///     f.pipeline("notes", |p| p.search(|o| text(o.note(), "tea")).limit(20))
    ///         .weighted("tags", 0.5, |p| p.search(|o| text(o.tags(), "tea")).limit(20))
    /// });
    /// assert!(found.to_string().contains(r#""normalization": "sigmoid""#));
    /// ```
    #[doc(alias = "$scoreFusion")]
    pub fn score_fusion(
        mut self,
        normalization: Normalization,
        pipelines: impl FnOnce(ScoreFusion<S>) -> ScoreFusion<S>,
    ) -> Self {
        let mut fusion = pipelines(ScoreFusion {
            inputs: Inputs::new("$scoreFusion"),
            model: PhantomData,
        });
        let marks = std::mem::take(&mut fusion.inputs.marks);
        self.stages.marks.add(marks, None);
        let argument = fusion
            .inputs
            .into_argument(Some(normalization.name()), Some("avg"));
        self.stage("$scoreFusion", argument)
    }
}
