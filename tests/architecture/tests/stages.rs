//! Checks that each stage of the pipelines of the ODM is known to the marks of encrypted fields.

use std::collections::{BTreeMap, BTreeSet};

use marula_architecture_tests::sources_of;
use syn::visit::Visit;

/// The effect of a stage on the documents that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The documents after it are stored ones: conditions on encrypted fields can follow.
    Keeps,
    /// The documents have further fields, or other values of fields.
    Changes,
    /// The documents are new ones, without the fields that earlier projections have kept.
    Creates,
}

/// Every stage that a method of `Pipeline` adds. A stage that is missing here fails the test: decide which of the effects it has, and
/// add it to the list in `odm/src/query/handle/marks.rs` if it does not only change the documents.
const STAGES: [(&str, Effect); 33] = [
    ("$bucket", Effect::Creates),
    ("$bucketAuto", Effect::Creates),
    ("$collStats", Effect::Creates),
    ("$count", Effect::Creates),
    ("$densify", Effect::Changes),
    ("$facet", Effect::Changes),
    ("$fill", Effect::Changes),
    ("$geoNear", Effect::Changes),
    ("$graphLookup", Effect::Changes),
    ("$group", Effect::Creates),
    ("$indexStats", Effect::Creates),
    ("$limit", Effect::Keeps),
    ("$lookup", Effect::Changes),
    ("$match", Effect::Keeps),
    ("$merge", Effect::Changes),
    ("$out", Effect::Changes),
    ("$project", Effect::Creates),
    ("$rankFusion", Effect::Changes),
    ("$redact", Effect::Changes),
    ("$replaceWith", Effect::Creates),
    ("$sample", Effect::Keeps),
    ("$scoreFusion", Effect::Changes),
    ("$search", Effect::Changes),
    ("$searchMeta", Effect::Creates),
    ("$set", Effect::Changes),
    ("$setWindowFields", Effect::Changes),
    ("$skip", Effect::Keeps),
    ("$sort", Effect::Keeps),
    ("$sortByCount", Effect::Creates),
    ("$unionWith", Effect::Changes),
    ("$unset", Effect::Changes),
    ("$unwind", Effect::Changes),
    ("$vectorSearch", Effect::Changes),
];

/// The names of stages that are added by calls of `stage`, and the lists of names in constants.
#[derive(Default)]
struct Names {
    added: BTreeSet<String>,
    lists: BTreeMap<String, BTreeSet<String>>,
}

fn text(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "stage"
            && let Some(name) = call.args.first().and_then(text)
        {
            self.added.insert(name);
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if let syn::Expr::Array(array) = &*item.expr {
            let names = array.elems.iter().filter_map(text).collect();
            self.lists.insert(item.ident.to_string(), names);
        }
    }
}

fn names_in(folder: &str) -> Names {
    let mut names = Names::default();
    for source in sources_of(folder) {
        names.visit_file(&source.tree);
    }
    names
}

#[test]
fn every_stage_has_an_effect() {
    let known: BTreeSet<String> = STAGES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names_in("odm/src/query/aggregate").added, known);
}

#[test]
fn the_marks_have_the_stages_with_an_effect() {
    let lists = names_in("odm/src/query/handle").lists;
    for (list, effect) in [("UNCHANGING", Effect::Keeps), ("CREATING", Effect::Creates)] {
        let mut listed = lists[list].clone();
        // The second name of a stage, which a raw stage can have.
        listed.remove("$replaceRoot");
        let known = STAGES.iter().filter(|(_, of)| *of == effect);
        assert_eq!(
            listed,
            known.map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>(),
            "{list}"
        );
    }
}
