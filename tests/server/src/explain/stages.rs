//! The tree of plan stages, shown as a plan or with execution statistics.

use bson::{Bson, Document, doc};

#[derive(Debug, Clone, Default)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) parameters: Document,
    /// Stage-specific execution statistics.
    pub(super) counted: Document,
    pub(super) returned: u64,
    pub(super) works: u64,
    /// False if a LIMIT stage above stopped the stage early.
    pub(super) is_eof: bool,
    pub(super) inputs: Vec<Stage>,
}

impl Stage {
    /// Creates a stage that passes on every result of `input`.
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

    /// The form in `winningPlan` and `rejectedPlans`.
    pub(super) fn plan(&self) -> Document {
        self.show(false)
    }

    /// The form in `executionStages`.
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

/// A counter as an int32 if it fits, otherwise an int64.
pub(super) fn count(value: u64) -> Bson {
    i32::try_from(value).map_or(Bson::Int64(value as i64), Bson::Int32)
}
