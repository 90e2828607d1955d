//! Updates: operators and replacements.

use bson::{Bson, Document};

use crate::{
    error::{Analyzed, reject, reject_with},
    schema::Target,
    value::Marker,
};

impl Marker<'_> {
    /// Marks the values of an update. A pipeline cannot change encrypted fields.
    pub(crate) fn mark_update(&mut self, update: &Bson) -> Analyzed<Bson> {
        let Bson::Document(update) = update else {
            self.check_pipeline(update)?;
            return Ok(update.clone());
        };
        if !update.keys().next().is_some_and(|key| key.starts_with('$')) {
            return self.mark_document(update).map(Bson::Document);
        }
        let mut marked = Document::new();
        for (operator, values) in update {
            let values = match values {
                Bson::Document(values) => Bson::Document(self.mark_modification(operator, values)?),
                other => other.clone(),
            };
            marked.insert(operator, values);
        }
        Ok(Bson::Document(marked))
    }

    /// Rejects a pipeline whose stages name an encrypted field, at any depth.
    fn check_pipeline(&self, value: &Bson) -> Analyzed<()> {
        match value {
            Bson::Array(values) => values.iter().try_for_each(|value| self.check_pipeline(value)),
            Bson::Document(document) => document.iter().try_for_each(|(key, value)| {
                self.check_reference(key)?;
                self.check_pipeline(value)
            }),
            Bson::String(text) => self.check_reference(text.trim_start_matches('$')),
            _ => Ok(()),
        }
    }

    fn check_reference(&self, path: &str) -> Analyzed<()> {
        if matches!(self.schema.target(path), Target::Plain) {
            return Ok(());
        }
        let message = format!("Pipelines in updates are not allowed with encrypted fields: '{path}'");
        reject_with(31_146, message)
    }

    fn mark_modification(&mut self, operator: &str, values: &Document) -> Analyzed<Document> {
        let mut marked = Document::new();
        for (path, value) in values {
            if let Target::Below(rest) = self.schema.target(path) {
                return match rest.split('.').next() {
                    Some("$") => reject("Cannot encrypt fields below '$' positional update operator"),
                    _ => reject("Array update operations not allowed on encrypted values"),
                };
            }
            let target = self.schema.target(path);
            let value = match (operator, target, value) {
                ("$set" | "$setOnInsert", _, value) => self.mark_at(path, value, None)?,
                ("$unset", _, value) => value.clone(),
                ("$rename", target, Bson::String(new)) => {
                    let same = match (target, self.schema.target(new)) {
                        (Target::Encrypted(old), Target::Encrypted(new)) => old == new,
                        (Target::Plain, Target::Plain) => true,
                        _ => false,
                    };
                    if !same {
                        return reject(
                            "$rename between two encrypted fields must have the same metadata or both be unencrypted",
                        );
                    }
                    value.clone()
                }
                ("$inc" | "$mul", Target::Encrypted(_), _) => {
                    return reject("$inc and $mul not allowed on encrypted values");
                }
                ("$max" | "$min", Target::Encrypted(_), _) => {
                    return reject("$max and $min not allowed on encrypted values");
                }
                (operator, Target::Encrypted(_), _) => {
                    return reject(format!("{operator} not allowed on encrypted values"));
                }
                (_, _, value) => value.clone(),
            };
            marked.insert(path, value);
        }
        Ok(marked)
    }
}
