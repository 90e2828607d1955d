//! Pipelines in the form in which mongocryptd returns them: parsed and written again, so that each constant of an expression is
//! `{$const: …}`, and the stages that are short forms of others are those.

use bson::{Bson, Document, doc};

/// Arguments of operators that are not expressions.
const NOT_EXPRESSIONS: [&str; 5] = ["as", "method", "sortBy", "useLongestLength", "window"];

/// Operators whose only argument may be a document without names of arguments.
const OF_ONE_DOCUMENT: [&str; 5] = [
    "$bsonSize",
    "$isNumber",
    "$mergeObjects",
    "$objectToArray",
    "$type",
];

/// The stages of a pipeline.
pub(crate) fn pipeline(stages: &Bson) -> Bson {
    let Bson::Array(stages) = stages else {
        return stages.clone();
    };
    let mut written = Vec::with_capacity(stages.len());
    for stage in stages {
        match stage.as_document().and_then(|stage| stage.iter().next()) {
            Some((name, argument)) => written.extend(stage_of(name, argument)),
            None => written.push(stage.clone()),
        }
    }
    Bson::Array(written)
}

fn stage_of(name: &str, argument: &Bson) -> Vec<Bson> {
    let one = |name: &str, argument: Bson| vec![Bson::Document(doc! { name: argument })];
    match (name, argument) {
        ("$group", Bson::Document(group)) => one(name, group_of(group)),
        ("$sortByCount", by) => {
            let group = doc! { "_id": expression(by), "count": { "$sum": { "$const": 1 } } };
            [
                one("$group", group.into()),
                one("$sort", doc! { "count": -1 }.into()),
            ]
            .concat()
        }
        ("$bucket", Bson::Document(bucket)) => {
            let sort = doc! { "_id": 1 };
            [one("$group", bucket_of(bucket)), one("$sort", sort.into())].concat()
        }
        ("$bucketAuto", Bson::Document(bucket)) => {
            let mut written = with(bucket, "groupBy", expression);
            written.insert("output", output(bucket));
            one(name, written.into())
        }
        ("$addFields" | "$set", Bson::Document(fields)) => one(name, each(fields, expression)),
        ("$project", Bson::Document(fields)) => one(name, each(fields, projected)),
        ("$replaceRoot", Bson::Document(root)) => one(name, with(root, "newRoot", expression).into()),
        ("$replaceWith", root) => one("$replaceRoot", doc! { "newRoot": expression(root) }.into()),
        ("$redact", argument) => one(name, expression(argument)),
        ("$graphLookup", Bson::Document(lookup)) => one(name, with(lookup, "startWith", expression).into()),
        ("$lookup", Bson::Document(lookup)) => one(
            name,
            with(&with(lookup, "let", expressions), "pipeline", pipeline).into(),
        ),
        ("$facet", Bson::Document(facets)) => one(name, each(facets, pipeline)),
        (name, argument) => one(name, argument.clone()),
    }
}

/// The document with one field written.
fn with(document: &Document, field: &str, write: fn(&Bson) -> Bson) -> Document {
    let mut written = document.clone();
    if let Some(value) = written.get_mut(field) {
        *value = write(value);
    }
    written
}

/// The document with each field written.
fn each(document: &Document, write: fn(&Bson) -> Bson) -> Bson {
    let fields = document.iter().map(|(name, value)| (name.clone(), write(value)));
    Bson::Document(fields.collect())
}

fn expressions(fields: &Bson) -> Bson {
    fields
        .as_document()
        .map_or_else(|| fields.clone(), |fields| each(fields, expression))
}

fn group_of(group: &Document) -> Bson {
    let fields = group.iter().map(|(name, value)| {
        let written = if name == "_id" {
            expression(value)
        } else {
            accumulator(value)
        };
        (name.clone(), written)
    });
    Bson::Document(fields.collect())
}

/// `output` of `$bucket` and `$bucketAuto`. By default it is the number of documents.
fn output(bucket: &Document) -> Bson {
    match bucket.get("output") {
        Some(Bson::Document(fields)) => each(fields, accumulator),
        _ => Bson::Document(doc! { "count": { "$sum": { "$const": 1 } } }),
    }
}

/// The `$group` that a `$bucket` is.
fn bucket_of(bucket: &Document) -> Bson {
    let by = bucket.get("groupBy").map_or(Bson::Null, expression);
    let boundaries = bucket.get_array("boundaries").map_or(&[][..], Vec::as_slice);
    let branches: Vec<Bson> = boundaries
        .windows(2)
        .map(|bounds| {
            let above = doc! { "$gte": [by.clone(), expression(&bounds[0])] };
            let below = doc! { "$lt": [by.clone(), expression(&bounds[1])] };
            doc! { "case": { "$and": [above, below] }, "then": expression(&bounds[0]) }.into()
        })
        .collect();
    let mut switch = doc! { "branches": branches };
    if let Some(default) = bucket.get("default") {
        switch.insert("default", expression(default));
    }
    let mut group = doc! { "_id": { "$switch": switch } };
    if let Bson::Document(fields) = output(bucket) {
        group.extend(fields);
    }
    Bson::Document(group)
}

fn accumulator(accumulator: &Bson) -> Bson {
    let Some((name, argument)) = accumulator.as_document().and_then(|fields| fields.iter().next()) else {
        return accumulator.clone();
    };
    let written = match (name.as_str(), argument) {
        ("$count", _) => return Bson::Document(doc! { "$sum": { "$const": 1 } }),
        ("$accumulator", argument) => argument.clone(),
        (
            "$top" | "$topN" | "$bottom" | "$bottomN" | "$firstN" | "$lastN" | "$maxN" | "$minN" | "$median"
            | "$percentile",
            Bson::Document(arguments),
        ) => named(arguments),
        (_, argument) => expression(argument),
    };
    Bson::Document(doc! { name: written })
}

/// A field of `$project`: an expression, or whether it is included.
fn projected(value: &Bson) -> Bson {
    match value {
        Bson::Boolean(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => {
            value.clone()
        }
        Bson::Document(fields) if !is_operator(fields) => each(fields, projected),
        value => expression(value),
    }
}

fn is_operator(document: &Document) -> bool {
    document.keys().next().is_some_and(|name| name.starts_with('$'))
}

fn expression(value: &Bson) -> Bson {
    match value {
        Bson::String(path) if path.starts_with('$') => value.clone(),
        Bson::Array(items) => items.iter().map(expression).collect::<Vec<_>>().into(),
        Bson::Document(fields) if !is_operator(fields) => each(fields, expression),
        Bson::Document(fields) => match fields.iter().next() {
            Some((name, argument)) => Bson::Document(operator(name, argument)),
            None => value.clone(),
        },
        constant => Bson::Document(doc! { "$const": constant.clone() }),
    }
}

fn operator(name: &str, argument: &Bson) -> Document {
    let written = match (name, argument) {
        ("$literal" | "$const", constant) => return doc! { "$const": constant.clone() },
        ("$meta" | "$function", argument) => argument.clone(),
        ("$cond", Bson::Document(fields)) => {
            let parts = ["if", "then", "else"].map(|part| fields.get(part).map_or(Bson::Null, expression));
            Bson::Array(parts.to_vec())
        }
        (_, Bson::Document(fields)) if !is_operator(fields) && !OF_ONE_DOCUMENT.contains(&name) => {
            named(fields)
        }
        (_, Bson::Array(_)) => expression(argument),
        (_, operand) => Bson::Array(vec![expression(operand)]),
    };
    doc! { name: written }
}

/// The named arguments of an operator.
fn named(arguments: &Document) -> Bson {
    let branch = |branch: &Bson| expressions(branch);
    let written = arguments.iter().map(|(name, value)| {
        let written = match (name.as_str(), value) {
            (name, value) if NOT_EXPRESSIONS.contains(&name) => value.clone(),
            ("vars", vars) => expressions(vars),
            ("branches", Bson::Array(branches)) => branches.iter().map(branch).collect::<Vec<_>>().into(),
            (_, value) => expression(value),
        };
        (name.clone(), written)
    });
    Bson::Document(written.collect())
}
