//! Parses filter documents to [`Filter`]s. Unknown operators are errors with the server's code.

use super::Env;
use super::bits::Bits;
use super::filter::{Comparison, Filter, Test, TypeTest};
use super::geo::{GeoTest, Near};
use super::path::Path;
use super::regex::Regex;
use crate::error::{Error, Result};
use crate::features::Feature;
use crate::text::query::TextQuery;
use crate::value::compare::compare;
use crate::value::number::Number;
use crate::value::{collation::Collation, format};
use bson::{Bson, Document};

impl Filter {
    /// Parses a filter document. String comparisons use the collation of `env`.
    pub(crate) fn parse(filter: &Document, env: &Env) -> Result<Filter> {
        let parser = Parser {
            env,
            collation: env.collation.as_ref(),
            on_documents: true,
        };
        let filter = parser.document(filter)?;
        filter.check_placement()?;
        Ok(filter)
    }

    /// Parses a filter of a collection whose text index is that of `env`.
    pub(crate) fn of_query(filter: &Document, env: &Env) -> Result<Filter> {
        let filter = Self::parse(filter, env)?;
        if filter.text().is_some() {
            env.required_text_index()?;
        }
        Ok(filter)
    }

    /// Parses the operand of an `$elemMatch`, for [`Filter::matches_element`].
    pub(crate) fn parse_element(condition: &Document, env: &Env) -> Result<Filter> {
        let parser = Parser {
            env,
            collation: env.collation.as_ref(),
            on_documents: false,
        };
        parser
            .elem_match(&Bson::Document(condition.clone()))
            .map(|test| Filter::Field(Path::current(), test))
    }
}

struct Parser<'c> {
    env: &'c Env,
    collation: Option<&'c Collation>,
    /// True if the filter applies to documents, false if it applies to array elements.
    on_documents: bool,
}

impl Parser<'_> {
    fn document(&self, filter: &Document) -> Result<Filter> {
        let mut all = Vec::with_capacity(filter.len());
        for (name, value) in filter {
            match name.strip_prefix('$') {
                Some(operator) => all.extend(self.top_level(operator, value)?),
                None => all.push(self.field(&Path::new(name), value)?),
            }
        }
        Ok(if all.len() == 1 {
            all.remove(0)
        } else {
            Filter::And(all)
        })
    }

    fn top_level(&self, operator: &str, value: &Bson) -> Result<Option<Filter>> {
        if !self.on_documents && matches!(operator, "expr" | "where" | "text" | "sampleRate") {
            return Err(Error::bad_value(format!(
                "${operator} can only be applied to the top-level document"
            )));
        }
        Ok(Some(match operator {
            "and" => Filter::And(self.clauses(operator, value)?),
            "or" => Filter::Or(self.clauses(operator, value)?),
            "nor" => Filter::Nor(self.clauses(operator, value)?),
            "comment" => return Ok(None),
            "expr" => Filter::Expression(crate::expression::Expression::parse(value, self.env)?),
            "jsonSchema" => match value {
                Bson::Document(schema) => Filter::Schema(super::json_schema::Schema::parse(schema)?),
                _ => return Err(Error::type_mismatch("$jsonSchema must be an object")),
            },
            "alwaysTrue" => Filter::Constant(true),
            "alwaysFalse" => Filter::Constant(false),
            // The sleep has ended before the filter is used: the storage must not be locked
            // meanwhile.
            "where" if crate::command::waiting::sleep_time(value).is_some() => Filter::Constant(true),
            "sampleRate" if Feature::QueryOperator.is_in("$sampleRate", self.env.profile.version) => {
                self.sample(value)?
            }
            "text" => Filter::Text(Box::new(TextQuery::parse(value)?)),
            _ => {
                let version = self.env.profile.version;
                return Err(Feature::QueryOperator.refuse(&format!("${operator}"), version, || {
                    let advice = if version.at_least(5, 0) {
                        ". If you have a field name that starts with a '$' symbol, consider using $getField or $setField."
                    } else {
                        ""
                    };
                    Error::bad_value(format!("unknown top level operator: ${operator}{advice}"))
                }));
            }
        }))
    }

    /// Parses `$sampleRate`. A random number is compared with the rate.
    fn sample(&self, rate: &Bson) -> Result<Filter> {
        let number = Number::from_bson(rate)
            .ok_or_else(|| Error::bad_value("argument to $sampleRate must be a numeric type"))?
            .to_f64();
        if !(0.0..=1.0).contains(&number) {
            return Err(Error::bad_value(
                "numeric argument to $sampleRate must be in [0, 1]",
            ));
        }
        if number == 1.0 {
            return Ok(Filter::Constant(true));
        }
        let chosen = bson::doc! { "$lt": [{ "$rand": {} }, number] };
        crate::expression::Expression::parse(&Bson::Document(chosen), self.env).map(Filter::Expression)
    }

    fn clauses(&self, operator: &str, value: &Bson) -> Result<Vec<Filter>> {
        let Bson::Array(items) = value else {
            return Err(Error::bad_value(format!("${operator} must be an array")));
        };
        if items.is_empty() {
            return Err(Error::bad_value("$and/$or/$nor must be a nonempty array"));
        }
        items
            .iter()
            .map(|item| match item {
                Bson::Document(clause) => self.document(clause),
                _ => Err(Error::bad_value("$or/$and/$nor entries need to be full objects")),
            })
            .collect()
    }

    fn field(&self, path: &Path, value: &Bson) -> Result<Filter> {
        match value {
            Bson::RegularExpression(regex) => {
                let regex = Regex::new(regex.pattern.as_str(), regex.options.as_str())?;
                Ok(Filter::Field(path.clone(), Test::Regex(regex)))
            }
            Bson::Document(operators) if is_operators(operators) => self.operators(path, operators),
            other => Ok(Filter::Field(
                path.clone(),
                Test::Compare(Comparison::Eq, other.clone()),
            )),
        }
    }

    fn operators(&self, path: &Path, operators: &Document) -> Result<Filter> {
        let mut all = Vec::with_capacity(operators.len());
        for (name, value) in operators {
            if let Some(filter) = self.operator(path, name, value, operators)? {
                all.push(filter);
            }
        }
        Ok(if all.len() == 1 {
            all.remove(0)
        } else {
            Filter::And(all)
        })
    }

    fn operator(&self, path: &Path, name: &str, value: &Bson, siblings: &Document) -> Result<Option<Filter>> {
        let field = |test| Filter::Field(path.clone(), test);
        let not = |filter| Filter::Not(Box::new(filter));
        Ok(Some(match name {
            "$eq" => field(Test::Compare(Comparison::Eq, value.clone())),
            "$ne" => {
                if matches!(value, Bson::RegularExpression(_)) {
                    return Err(Error::bad_value("Can't have regex as arg to $ne."));
                }
                not(field(Test::Compare(Comparison::Eq, value.clone())))
            }
            "$gt" => field(self.ordered(path, Comparison::Gt, value)?),
            "$gte" => field(self.ordered(path, Comparison::Gte, value)?),
            "$lt" => field(self.ordered(path, Comparison::Lt, value)?),
            "$lte" => field(self.ordered(path, Comparison::Lte, value)?),
            "$in" => field(self.in_list(name, value)?),
            "$nin" => not(field(self.in_list(name, value)?)),
            "$exists" => {
                let exists = field(Test::Exists);
                if crate::value::truthy(value) {
                    exists
                } else {
                    not(exists)
                }
            }
            "$type" => field(Test::Type(type_tests(value)?)),
            "$not" => match value {
                Bson::RegularExpression(_) => not(self.field(path, value)?),
                Bson::Document(inner) if inner.is_empty() => {
                    return Err(Error::bad_value("$not cannot be empty"));
                }
                Bson::Document(inner) => not(self.operators(path, inner)?),
                _ => return Err(Error::bad_value("$not needs a regex or a document")),
            },
            "$regex" => field(Test::Regex(regex(value, siblings.get("$options"))?)),
            "$options" => {
                if !siblings.contains_key("$regex") {
                    return Err(Error::bad_value("$options needs a $regex"));
                }
                return Ok(None);
            }
            "$size" => field(Test::Size(size(value)?)),
            "$mod" => modulus(value).map(|(divisor, remainder)| field(Test::Mod(divisor, remainder)))?,
            "$all" => self.all(path, value)?,
            "$elemMatch" => field(self.elem_match(value)?),
            "$bitsAllSet" | "$bitsAllClear" | "$bitsAnySet" | "$bitsAnyClear" => {
                field(Test::Bits(Bits::parse(name, value)?))
            }
            "$geoWithin" | "$within" => field(Test::Geo(GeoTest::parse("$geoWithin", value)?)),
            "$geoIntersects" => field(Test::Geo(GeoTest::parse(name, value)?)),
            "$near" | "$nearSphere" | "$geoNear" => {
                Filter::Near(Box::new(Near::parse(path, name, value, siblings)?))
            }
            "$minDistance" | "$maxDistance"
                if ["$near", "$nearSphere", "$geoNear"]
                    .iter()
                    .any(|near| siblings.contains_key(near)) =>
            {
                return Ok(None);
            }
            "$comment" => return Ok(None),
            other => {
                let version = self.env.profile.version;
                return Err(Feature::QueryOperator.refuse(other, version, || {
                    Error::bad_value(format!("unknown operator: {other}"))
                }));
            }
        }))
    }

    fn ordered(&self, path: &Path, comparison: Comparison, value: &Bson) -> Result<Test> {
        if matches!(value, Bson::RegularExpression(_)) {
            return Err(Error::bad_value(format!(
                "Can't have RegEx as arg to predicate over field '{}'.",
                path.text
            )));
        }
        Ok(Test::Compare(comparison, value.clone()))
    }

    fn in_list(&self, operator: &str, value: &Bson) -> Result<Test> {
        let Bson::Array(items) = value else {
            return Err(Error::bad_value(format!("{operator} needs an array")));
        };
        let (mut values, mut regexes) = (Vec::with_capacity(items.len()), Vec::new());
        for item in items {
            match item {
                Bson::RegularExpression(regex) => {
                    regexes.push(Regex::new(regex.pattern.as_str(), regex.options.as_str())?);
                }
                Bson::Document(inner) if is_operators(inner) => {
                    return Err(Error::bad_value(format!("cannot nest $ under {operator}")));
                }
                other => values.push(other.clone()),
            }
        }
        values.sort_by(|a, b| compare(a, b, self.collation));
        Ok(Test::In(values, regexes))
    }

    fn all(&self, path: &Path, value: &Bson) -> Result<Filter> {
        let Bson::Array(items) = value else {
            return Err(Error::bad_value("$all needs an array"));
        };
        if items.is_empty() {
            return Ok(Filter::Constant(false));
        }
        let elem_match = |item: &Bson| match item {
            Bson::Document(inner) => inner.keys().next().is_some_and(|key| key == "$elemMatch"),
            _ => false,
        };
        let any = items.iter().any(elem_match);
        items
            .iter()
            .map(|item| match item {
                Bson::Document(inner) if any => match inner.get("$elemMatch") {
                    Some(condition) if elem_match(item) => {
                        Ok(Filter::Field(path.clone(), self.elem_match(condition)?))
                    }
                    _ => Err(Error::bad_value("$all/$elemMatch has to be consistent")),
                },
                _ if any => Err(Error::bad_value("$all/$elemMatch has to be consistent")),
                Bson::Document(inner) if is_operators(inner) => {
                    Err(Error::bad_value("no $ expressions in $all"))
                }
                other => self.field(path, other),
            })
            .collect::<Result<Vec<_>>>()
            .map(Filter::And)
    }

    fn elem_match(&self, value: &Bson) -> Result<Test> {
        let Bson::Document(condition) = value else {
            return Err(Error::bad_value("$elemMatch needs an Object"));
        };
        let of_value = condition.keys().next().is_some_and(|key| {
            key.starts_with('$')
                && !matches!(
                    key.as_str(),
                    "$and" | "$or" | "$nor" | "$where" | "$expr" | "$comment" | "$text" | "$sampleRate"
                )
        });
        Ok(if of_value && is_operators(condition) {
            Test::ElemMatchValue(Box::new(self.operators(&Path::current(), condition)?))
        } else {
            let within = Parser {
                on_documents: false,
                ..*self
            };
            Test::ElemMatchObject(Box::new(within.document(condition)?))
        })
    }
}

/// Returns whether a document consists of operators. A DBRef is a value although its field names
/// begin with `$`.
pub(crate) fn is_operators(document: &Document) -> bool {
    document
        .keys()
        .next()
        .is_some_and(|name| name.starts_with('$') && !matches!(name.as_str(), "$ref" | "$id" | "$db"))
}

fn regex(value: &Bson, options: Option<&Bson>) -> Result<Regex> {
    let options = match options {
        None => None,
        Some(Bson::String(options)) => Some(options.as_str()),
        Some(_) => return Err(Error::bad_value("$options has to be a string")),
    };
    match value {
        Bson::String(pattern) => Regex::new(pattern, options.unwrap_or("")),
        Bson::RegularExpression(regex) => {
            let own = regex.options.as_str();
            if options.is_some() && !own.is_empty() {
                return Err(Error::new(51075, "options set in both $regex and $options"));
            }
            Regex::new(regex.pattern.as_str(), options.unwrap_or(own))
        }
        _ => Err(Error::bad_value("$regex has to be a string")),
    }
}

fn size(value: &Bson) -> Result<i64> {
    let shown = format::bson(value);
    let number = Number::from_bson(value).ok_or_else(|| {
        Error::failed_to_parse(format!(
            "Failed to parse $size. Expected a number in: $size: {shown}"
        ))
    })?;
    let size = number.to_exact_i64().ok_or_else(|| {
        Error::failed_to_parse(format!(
            "Failed to parse $size. Expected an integer: $size: {shown}"
        ))
    })?;
    if size < 0 {
        return Err(Error::failed_to_parse(format!(
            "Failed to parse $size. Expected a non-negative number in: $size: {shown}"
        )));
    }
    Ok(size)
}

fn modulus(value: &Bson) -> Result<(i64, i64)> {
    let Bson::Array(items) = value else {
        return Err(Error::bad_value("malformed mod, needs to be an array"));
    };
    match items.len() {
        2 => {}
        0 | 1 => return Err(Error::bad_value("malformed mod, not enough elements")),
        _ => return Err(Error::bad_value("malformed mod, too many elements")),
    }
    let part = |item: &Bson, name: &str| match Number::from_bson(item) {
        Some(Number::Double(number)) if !number.is_finite() => Err(Error::bad_value(format!(
            "malformed mod, {name} value is invalid"
        ))),
        Some(number) => Ok(number.to_saturated_i64()),
        None => Err(Error::bad_value(format!("malformed mod, {name} not a number"))),
    };
    let (divisor, remainder) = (part(&items[0], "divisor")?, part(&items[1], "remainder")?);
    if divisor == 0 {
        return Err(Error::bad_value("divisor cannot be 0"));
    }
    Ok((divisor, remainder))
}

/// BSON types by the numbers that `$type` accepts.
const TYPE_CODES: [(i64, &str); 20] = [
    (1, "double"),
    (2, "string"),
    (3, "object"),
    (4, "array"),
    (5, "binData"),
    (6, "undefined"),
    (7, "objectId"),
    (8, "bool"),
    (9, "date"),
    (10, "null"),
    (11, "regex"),
    (12, "dbPointer"),
    (13, "javascript"),
    (14, "symbol"),
    (15, "javascriptWithScope"),
    (16, "int"),
    (17, "timestamp"),
    (18, "long"),
    (19, "decimal"),
    (-1, "minKey"),
];

/// Parses the operand of `$type`: an alias, a number, or an array of them.
pub(crate) fn type_tests(value: &Bson) -> Result<Vec<TypeTest>> {
    match value {
        Bson::Array(items) if items.is_empty() => {
            Err(Error::failed_to_parse("$type must match at least one type"))
        }
        Bson::Array(items) => items.iter().map(type_test).collect(),
        other => Ok(vec![type_test(other)?]),
    }
}

fn type_test(value: &Bson) -> Result<TypeTest> {
    if let Bson::String(name) = value {
        if name == "number" {
            return Ok(TypeTest::Number);
        }
        return TYPE_CODES
            .iter()
            .map(|(_, known)| *known)
            .chain(["maxKey"])
            .find(|known| known == name)
            .map(TypeTest::Named)
            .ok_or_else(|| Error::bad_value(format!("Unknown type name alias: {name}")));
    }
    let Some(number) = Number::from_bson(value) else {
        return Err(Error::type_mismatch(
            "type must be represented as a number or a string",
        ));
    };
    let invalid = || Error::bad_value(format!("Invalid numerical type code: {}", format::bson(value)));
    let number = number.to_exact_i64().ok_or_else(invalid)?;
    if number == 127 {
        return Ok(TypeTest::Named("maxKey"));
    }
    let known = TYPE_CODES.iter().find(|(known, _)| *known == number);
    known.map(|(_, name)| TypeTest::Named(name)).ok_or_else(invalid)
}
