//! The tree of stages of a plan, and how explain shows it: as a plan, and with what its execution counted.

use bson::{Bson, Document, doc};

/// One stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    /// The stage's parameters.
    pub(super) parameters: Document,
    /// What its execution counted, beside what every stage counts.
    pub(super) counted: Document,
    pub(super) returned: u64,
    pub(super) works: u64,
    /// Not ended by a limit above it.
    pub(super) is_eof: bool,
    pub(super) inputs: Vec<Stage>,
}

impl Stage {
    /// A stage over another one, which passes on what it gets.
    pub(super) fn over(name: &'static str, parameters: Document, input: Stage) -> Stage {
        Stage {
            name,
            parameters,
            counted: Document::new(),
            returned: input.returned,
            works: input.works,
            is_eof: input.is_eof,
            inputs: vec![input],
        }
    }

    /// As a member of `winningPlan` or `rejectedPlans`.
    pub(super) fn plan(&self) -> Document {
        self.show(false)
    }

    /// As `executionStages`.
    pub(super) fn executed(&self) -> Document {
        self.show(true)
    }

    fn show(&self, executed: bool) -> Document {
        let mut shown = doc! { "stage": self.name };
        if let Some(filter) = self.parameters.get("filter") {
            shown.insert("filter", filter.clone());
        }
        if executed {
            let needed = self.works.saturating_sub(self.returned + u64::from(self.is_eof));
            shown.extend(doc! {
                "nReturned": count(self.returned),
                "executionTimeMillisEstimate": 0,
                "works": count(self.works),
                "advanced": count(self.returned),
                "needTime": count(needed),
                "needYield": 0,
                "saveState": 0,
                "restoreState": 0,
                "isEOF": i32::from(self.is_eof),
            });
        }
        shown.extend(self.parameters.clone());
        if executed {
            shown.extend(self.counted.clone());
        }
        let mut inputs: Vec<Document> = self.inputs.iter().map(|input| input.show(executed)).collect();
        match inputs.len() {
            0 => {}
            1 => {
                shown.insert("inputStage", inputs.remove(0));
            }
            _ => {
                shown.insert("inputStages", inputs);
            }
        }
        shown
    }
}

/// A counter, as an int where it fits.
pub(super) fn count(value: u64) -> Bson {
    i32::try_from(value).map_or(Bson::Int64(value as i64), Bson::Int32)
}
