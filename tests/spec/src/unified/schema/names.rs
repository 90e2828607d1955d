//! What the name of an invalid file says about the fault in it.
//!
//! Names are made by a rule: a definition, the keys that lead from it to the fault, and the schema's rule that is broken,
//! with dashes between them, e.g. `expectedError-errorLabelsContain-minItems`.

use super::{Place, Rule, Step, Violation};

/// The fault that a file must have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expectation {
    /// A definition or a key of the file, and the keys from there on; empty for the file itself.
    trail: Vec<String>,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    /// A rule broken by the value at the end of the trail.
    Rule(Rule),
    /// An element of the array at the end of the trail has the wrong type.
    Items,
    /// Any key of the document at the end of the trail has a value that breaks one of these rules.
    AnyKey(&'static [Rule]),
    /// The key at the end of the trail excludes another.
    ConflictsWith(String),
    /// The list of events at the end of the trail has one that is not of its type.
    ForeignEvent(String),
    /// The key is unknown, wherever it is.
    Unsupported(String),
    /// The name's last part is no rule but a key that must not be there.
    Unwanted(String),
}

const RULES: [Rule; 9] = [
    Rule::Type,
    Rule::Enum,
    Rule::Const,
    Rule::Pattern,
    Rule::Required,
    Rule::AdditionalProperties,
    Rule::MinItems,
    Rule::MinProperties,
    Rule::MaxProperties,
];

/// Files that are not named by the rule. Those about traces are named by sentences, and say `tags` for what is called
/// `attributes` now; one names the definition of the message for that of the list of messages.
const EXCEPTIONS: &[(&str, &[&str], Fault)] = &[
    (
        "expectedLogMessage-additionalProperties",
        &["expectedLogMessagesForClient"],
        Fault::Rule(Rule::AdditionalProperties),
    ),
    (
        "expectedTracingSpans-additionalProperties",
        &["expectTracingMessagesForClient"],
        Fault::Rule(Rule::AdditionalProperties),
    ),
    (
        "expectedTracingSpans-clientType",
        &["expectTracingMessagesForClient", "client"],
        Fault::Rule(Rule::Type),
    ),
    (
        "expectedTracingSpans-emptyNestedSpan",
        &["spanComponent", "nested"],
        Fault::Rule(Rule::MinItems),
    ),
    (
        "expectedTracingSpans-invalidNestedSpan",
        &["spanComponent", "nested", "name"],
        Fault::Rule(Rule::Required),
    ),
    (
        "expectedTracingSpans-spanMalformedAdditionalProperties",
        &["spanComponent"],
        Fault::Rule(Rule::AdditionalProperties),
    ),
    (
        "expectedTracingSpans-spanMalformedMissingName",
        &["spanComponent", "name"],
        Fault::Rule(Rule::Required),
    ),
    (
        "expectedTracingSpans-spanMalformedMissingTags",
        &["spanComponent", "attributes"],
        Fault::Rule(Rule::Required),
    ),
    (
        "expectedTracingSpans-spanMalformedNestedMustBeArray",
        &["spanComponent", "nested"],
        Fault::Rule(Rule::Type),
    ),
    (
        "expectedTracingSpans-spanMalformedTagsMustBeObject",
        &["spanComponent", "attributes"],
        Fault::Rule(Rule::Required),
    ),
];

impl Expectation {
    /// Reads the name of a file, without its ending.
    pub(crate) fn of(name: &str) -> Self {
        let mut parts: Vec<&str> = name.split('-').collect();
        if let Some((_, trail, fault)) = EXCEPTIONS.iter().find(|(exception, ..)| *exception == name) {
            return Self {
                trail: trail.iter().map(ToString::to_string).collect(),
                fault: fault.clone(),
            };
        }
        let last = parts.pop().unwrap_or_default();
        let fault = if let Some(rule) = RULES.into_iter().find(|rule| rule.name() == last) {
            Fault::Rule(rule)
        } else if last == "items" {
            Fault::Items
        } else if last == "additionalPropertyType" {
            Fault::AnyKey(&[Rule::Type])
        } else if let Some(key) = last.strip_suffix("_not_supported") {
            Fault::Unsupported(key.to_owned())
        } else if let Some((key, other)) = last.split_once("conflicts_with_") {
            let key = key.trim_end_matches('_');
            if !key.is_empty() {
                parts.push(key);
            }
            match other.strip_suffix("_eventType") {
                Some(event_type) => Fault::ForeignEvent(event_type.to_owned()),
                None => Fault::ConflictsWith(other.to_owned()),
            }
        } else if parts.last() == Some(&"property") && last == "value" {
            Fault::AnyKey(&[Rule::Type, Rule::Enum])
        } else {
            Fault::Unwanted(last.to_owned())
        };
        let fault = if parts.last() == Some(&"property") {
            parts.pop();
            // The two files of this form have each other's name.
            Fault::AnyKey(&[Rule::Type, Rule::Enum])
        } else {
            fault
        };
        Self {
            trail: parts.into_iter().map(str::to_owned).collect(),
            fault,
        }
    }

    /// Whether this is the fault.
    pub(crate) fn fits(&self, violation: &Violation) -> bool {
        let Violation {
            place, rule, other, ..
        } = violation;
        let other = other.as_deref().unwrap_or_default();
        let unknown_key = *rule == Rule::AdditionalProperties;
        let fits = match &self.fault {
            Fault::Rule(wanted) => {
                rule == wanted && leads(&self.trail, place, 0) && !ends_in_element(place, *wanted)
            }
            Fault::Items => {
                matches!(place.0.last(), Some((Step::Element(_), _)))
                    && *rule == Rule::Type
                    && leads(&self.trail, place, 1)
            }
            Fault::AnyKey(rules) => rules.contains(rule) && leads(&self.trail, place, 1),
            Fault::ConflictsWith(key) => {
                *rule == Rule::Conflict && other == key && leads(&self.trail, place, 0)
            }
            Fault::ForeignEvent(kind) => {
                *rule == Rule::Conflict && other == kind && leads(&self.trail, place, 1)
            }
            Fault::Unsupported(key) => unknown_key && other == key,
            Fault::Unwanted(key) => {
                let mut trail = self.trail.clone();
                trail.push(key.clone());
                (*rule == Rule::Forbidden && leads(&trail, place, 0))
                    || (unknown_key && other == key && leads(&self.trail, place, 0))
            }
        };
        fits || (unknown_key && self.passes_through(other, place))
    }

    /// Whether the trail goes through a key that the format does not have (any more), so that the file is refused there.
    fn passes_through(&self, unknown: &str, place: &Place) -> bool {
        self.trail.iter().enumerate().skip(1).any(|(index, key)| {
            key == unknown && leads(self.trail.get(..index).unwrap_or_default(), place, 0)
        })
    }
}

/// The types and values of elements are what `items` is about, if they are no definition of their own.
fn ends_in_element(place: &Place, rule: Rule) -> bool {
    rule == Rule::Type && matches!(place.0.last(), Some((Step::Element(_), None)))
}

/// Whether `trail` names the place, or with `beyond` the one so many steps before it.
fn leads(trail: &[String], place: &Place, beyond: usize) -> bool {
    let steps = place.0.as_slice();
    let Some(steps) = steps
        .len()
        .checked_sub(beyond)
        .and_then(|length| steps.get(..length))
    else {
        return false;
    };
    let Some((first, rest)) = trail.split_first() else {
        return steps.is_empty();
    };
    let named = |(step, definition): &(Step, Option<&'static str>), name: &str| {
        *definition == Some(name) || matches!(step, Step::Key(key) if key == name)
    };
    steps.iter().enumerate().any(|(index, step)| {
        if !named(step, first) {
            return false;
        }
        let mut wanted = rest.iter();
        let after = steps.get(index + 1..).unwrap_or_default();
        for step in after {
            match step {
                (Step::Element(_), _) => {}
                (Step::Key(_), _) => match wanted.next() {
                    Some(name) if named(step, name) => {}
                    _ => return false,
                },
            }
        }
        wanted.next().is_none()
    })
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::{Document, doc};

    use super::{super::violations, *};

    fn rejected(name: &str, file: &Document) -> bool {
        let expectation = Expectation::of(name);
        violations(file)
            .iter()
            .any(|violation| expectation.fits(violation))
    }

    fn test(test: Document) -> Document {
        doc! { "description": "d", "schemaVersion": "1.0", "tests": [test] }
    }

    #[test]
    fn the_named_fault_is_found() {
        let operation = |operation: Document| test(doc! { "description": "t", "operations": [operation] });
        let wrong = operation(doc! { "name": 1, "object": "c" });
        assert!(rejected("operation-name-type", &wrong));
        assert!(!rejected("operation-object-type", &wrong));
        assert!(!rejected("operation-name-required", &wrong));
        let conflict = operation(
            doc! { "name": "f", "object": "c", "expectError": { "isError": true }, "expectResult": 1 },
        );
        assert!(rejected(
            "operation-expectError-conflicts_with_expectResult",
            &conflict
        ));
        assert!(!rejected(
            "operation-expectError-conflicts_with_saveResultAsEntity",
            &conflict
        ));
        let item = operation(doc! { "name": "f", "object": "c", "expectError": { "errorLabelsOmit": [1] } });
        assert!(rejected("expectedError-errorLabelsOmit-items", &item));
        assert!(!rejected("expectedError-errorLabelsOmit-type", &item));
    }

    #[test]
    fn the_file_itself_can_be_at_fault() {
        let mut file = test(doc! { "description": "t", "operations": [] });
        assert!(!rejected("additionalProperties", &file));
        file.insert("foo", 1);
        assert!(rejected("additionalProperties", &file));
        file.remove("schemaVersion");
        assert!(rejected("schemaVersion-required", &file));
        assert!(!rejected("schemaVersion-type", &file));
    }

    #[test]
    fn keys_that_the_format_lost_are_unknown() {
        let mut file = test(doc! { "description": "t", "operations": [] });
        file.insert(
            "createEntities",
            vec![doc! { "stream": { "id": "s", "hexBytes": "F" } }],
        );
        assert!(rejected("entity-stream-hexBytes-pattern", &file));
        assert!(!rejected("entity-thread-id-type", &file));
    }
}
