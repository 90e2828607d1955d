//! The score of an operator.

use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    path::{AsPath, Types, marker::Readable},
    term::search::{Argument, Operator, Searchable, invalid, name_of},
    values::search_field::Numbers,
};

impl<R, K> Operator<R, K> {
    pub(super) fn set_score(self, score: Argument) -> Self {
        if self.has("score") {
            return self.fail("an operator has one modification of its score: `boost`, `boost_by`, `constant`, `score_by` or `element_scores`");
        }
        self.try_set("score", score.map(Bson::Document))
    }

    /// Multiplies the score by a number, which must be greater than 0.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "tea").boost(2.0);
    /// assert!(found.to_string().contains(r#""score": {"boost": {"value": 2.0}}"#));
    /// ```
    pub fn boost(self, factor: impl Into<f64>) -> Self {
        let factor = factor.into();
        let score = finite(
            factor,
            factor > 0.0,
            "the factor of `boost` must be greater than 0",
        );
        self.set_score(score.map(|factor| doc! { "boost": { "value": factor } }))
    }

    /// Multiplies the score by the number in a field; by `undefined` where the document has none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let found = search::text(o.note(), "tea").boost_by(o.total(), 1.0);
    /// assert!(found.to_string().contains(r#""boost": {"path": "total", "undefined": 1.0}"#));
    /// ```
    pub fn boost_by<A>(self, path: A, undefined: impl Into<f64>) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: Searchable<Numbers>>,
    {
        let undefined = undefined.into();
        let score = name_of(path).and_then(|path| {
            let undefined = finite(undefined, true, "`undefined` must be a number")?;
            Ok(doc! { "boost": { "path": path, "undefined": undefined } })
        });
        self.set_score(score)
    }

    /// Replaces the score by a number.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::text(Order::fields().note(), "tea").constant(5.0);
    /// assert!(found.to_string().contains(r#""score": {"constant": {"value": 5.0}}"#));
    /// ```
    pub fn constant(self, score: impl Into<f64>) -> Self {
        let score = finite(score.into(), true, "the score of `constant` must be a number");
        self.set_score(score.map(|score| doc! { "constant": { "value": score } }))
    }

    /// Replaces the score by the value of a function.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::ScoreFunction;
    /// let o = Order::fields();
    /// let by = ScoreFunction::multiply([
    ///     ScoreFunction::relevance(),
    ///     ScoreFunction::log1p(ScoreFunction::field(o.total(), 0.0)),
    /// ]);
    /// assert_eq!(
    ///     search::text(o.note(), "tea").score_by(by).to_string(),
    ///     concat!(
    ///         r#"{"text": {"query": "tea", "path": "note", "score": {"function": {"multiply": ["#,
    ///         r#"{"score": "relevance"}, {"log1p": {"path": {"value": "total", "undefined": 0.0}}}]}}}}"#
    ///     )
    /// );
    /// ```
    pub fn score_by(self, function: ScoreFunction<R>) -> Self {
        self.set_score(function.expression.map(|function| doc! { "function": function }))
    }
}

fn finite(number: f64, is_valid: bool, reason: &str) -> Result<f64, Box<Error>> {
    if is_valid && number.is_finite() {
        Ok(number)
    } else {
        Err(invalid("", reason))
    }
}

/// A function that computes the score of an operator over documents of type `R`; see [`Operator::score_by`].
#[derive(Debug)]
#[must_use]
pub struct ScoreFunction<R> {
    expression: Argument,
    root: Types<R>,
}

impl<R> ScoreFunction<R> {
    fn of(expression: Argument) -> Self {
        ScoreFunction {
            expression,
            root: PhantomData,
        }
    }

    /// The score that the operator has without a function.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let same = search::text(Order::fields().note(), "tea").score_by(search::ScoreFunction::relevance());
    /// assert!(same.to_string().contains(r#"{"score": "relevance"}"#));
    /// ```
    pub fn relevance() -> Self {
        Self::of(Ok(doc! { "score": "relevance" }))
    }

    /// A number.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let fixed = search::text(Order::fields().note(), "tea").score_by(search::ScoreFunction::constant(2));
    /// assert!(fixed.to_string().contains(r#"{"constant": 2.0}"#));
    /// ```
    pub fn constant(number: impl Into<f64>) -> Self {
        let number = finite(number.into(), true, "a constant must be a number");
        Self::of(number.map(|number| doc! { "constant": number }))
    }

    /// The number in a field; `undefined` where the document has none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let dear = search::text(o.note(), "tea").score_by(search::ScoreFunction::field(o.total(), 0));
    /// assert!(dear.to_string().contains(r#"{"path": {"value": "total", "undefined": 0.0}}"#));
    /// ```
    pub fn field<A>(path: A, undefined: impl Into<f64>) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: Searchable<Numbers>>,
    {
        Self::of(number_at(path, undefined.into()).map(|path| doc! { "path": path }))
    }

    /// The sum of at least two functions.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::ScoreFunction;
    /// let more = ScoreFunction::<Order>::add([ScoreFunction::relevance(), ScoreFunction::constant(1)]);
    /// assert!(search::exists(Order::fields().note()).score_by(more).to_string().contains(r#"{"add": ["#));
    /// ```
    pub fn add(functions: impl IntoIterator<Item = Self>) -> Self {
        Self::list("add", functions)
    }

    /// The product of at least two functions.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::ScoreFunction;
    /// let half = ScoreFunction::<Order>::multiply([ScoreFunction::relevance(), ScoreFunction::constant(0.5)]);
    /// assert!(search::exists(Order::fields().note()).score_by(half).to_string().contains(r#"{"multiply": ["#));
    /// ```
    pub fn multiply(functions: impl IntoIterator<Item = Self>) -> Self {
        Self::list("multiply", functions)
    }

    /// The logarithm to base 10.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::ScoreFunction;
    /// let log = ScoreFunction::log(ScoreFunction::<Order>::relevance());
    /// assert!(search::exists(Order::fields().note()).score_by(log).to_string().contains(r#"{"log": "#));
    /// ```
    pub fn log(function: Self) -> Self {
        Self::of(function.expression.map(|function| doc! { "log": function }))
    }

    /// The logarithm to base 10 of the value plus 1.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::ScoreFunction;
    /// let log = ScoreFunction::log1p(ScoreFunction::<Order>::relevance());
    /// assert!(search::exists(Order::fields().note()).score_by(log).to_string().contains(r#"{"log1p": "#));
    /// ```
    pub fn log1p(function: Self) -> Self {
        Self::of(function.expression.map(|function| doc! { "log1p": function }))
    }

    /// A value that decays with the distance of a number from `origin`: `decay`, between 0 and 1, at the distance `scale` beyond
    /// `offset`. `undefined` is the number of a document without one.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::search::{Decay, ScoreFunction};
    /// let o = Order::fields();
    /// let decay = Decay { origin: 100.0, scale: 20.0, offset: 0.0, decay: 0.5 };
    /// let found = search::text(o.note(), "tea").score_by(ScoreFunction::gauss(o.total(), 0, decay));
    /// assert!(found.to_string().contains(r#""origin": 100.0, "scale": 20.0, "offset": 0.0, "decay": 0.5"#));
    /// ```
    pub fn gauss<A>(path: A, undefined: impl Into<f64>, decay: Decay) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: Searchable<Numbers>>,
    {
        let Decay {
            origin,
            scale,
            offset,
            decay,
        } = decay;
        let is_valid = scale > 0.0 && offset >= 0.0 && decay > 0.0 && decay < 1.0;
        let is_finite = origin.is_finite() && scale.is_finite() && offset.is_finite();
        let path = number_at(path, undefined.into());
        Self::of(path.and_then(|path| {
            if !is_valid || !is_finite {
                return Err(invalid(
                    "",
                    "`gauss` needs a scale greater than 0, an offset that is not negative, and a decay between 0 and 1",
                ));
            }
            Ok(doc! { "gauss": {
                "path": path, "origin": origin, "scale": scale, "offset": offset, "decay": decay,
            } })
        }))
    }

    fn list(name: &str, functions: impl IntoIterator<Item = Self>) -> Self {
        let functions = functions.into_iter().map(|function| function.expression);
        let functions = functions.collect::<Result<Vec<Document>, _>>();
        Self::of(functions.and_then(|functions| {
            if functions.len() < 2 {
                return Err(invalid("", format!("`{name}` needs at least two functions")));
            }
            Ok(doc! { name: functions })
        }))
    }
}

impl<R> Clone for ScoreFunction<R> {
    fn clone(&self) -> Self {
        Self::of(self.expression.clone())
    }
}

/// The form of [`ScoreFunction::gauss`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// The number with the value 1.
    pub origin: f64,
    /// The distance, beyond the offset, at which the value is `decay`. Greater than 0.
    pub scale: f64,
    /// The distance within which the value is 1. The default of the server is 0.
    pub offset: f64,
    /// The value at the distance `scale`, between 0 and 1. The default of the server is 0.5.
    pub decay: f64,
}

fn number_at<A: AsPath>(path: A, undefined: f64) -> Argument {
    let undefined = finite(undefined, true, "`undefined` must be a number")?;
    Ok(doc! { "value": name_of(path)?, "undefined": undefined })
}
