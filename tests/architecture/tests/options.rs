//! Checks that the actions of the ODM have the options of the driver's actions: each list of options that
//! the driver exports is used as a whole, and an option that the list leaves to the ODM has a setter there.

use std::collections::{BTreeMap, BTreeSet};

use marula_architecture_tests::{Source, sources_of};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Options with the mark `driver` that actions of the ODM do not have: (list or file, or all of them; option; reason).
const WITHOUT_SETTER: [(&str, &str, &str); 16] = [
    ("", "raw_data", "for MongoDB's own tools"),
    ("", "requires", "set by the ODM itself"),
    ("", "projection", "set by `select`, and by the type that is read"),
    (
        "",
        "array_filters",
        "set by the paths of the update; `with_options` adds others",
    ),
    (
        "__aggregate_options",
        "max_await_time",
        "the cursor of a pipeline is not tailable",
    ),
    (
        "__find_options",
        "cursor_type",
        "a tailable cursor does not end, which `all` waits for",
    ),
    ("__find_options", "max_await_time", "of tailable cursors"),
    (
        "__find_options",
        "timeout_mode",
        "not typed; `with_options` sets it",
    ),
    ("__find_options", "max", "not typed; `with_options` sets it"),
    ("__find_options", "min", "not typed; `with_options` sets it"),
    (
        "__find_options",
        "return_key",
        "returns other documents than the model",
    ),
    (
        "__find_options",
        "show_record_id",
        "adds a field that the model does not have",
    ),
    (
        "odm/src/query/write/save.rs",
        "upsert",
        "a save decides by the version of the document",
    ),
    (
        "odm/src/query/write/save.rs",
        "sort",
        "a save finds one document by its id",
    ),
    (
        "odm/src/query/write/changes.rs",
        "upsert",
        "changes of a document that was read insert none",
    ),
    (
        "odm/src/query/write/changes.rs",
        "sort",
        "changes are those of one document, by its id",
    ),
];

/// A list of options: `macro_rules! __find_options`.
#[derive(Default)]
struct List {
    /// The other lists whose options it contains.
    contains: BTreeSet<String>,
    /// The options with the mark `driver`, and whether they also have the mark `cursor`.
    of_odm: BTreeMap<String, bool>,
}

/// A use of a list in the ODM.
struct Use {
    list: String,
    /// The type of the options that the list is used with, such as `FindOptions`.
    options: Option<String>,
    /// Whether options are added by hand.
    has_more: bool,
    without_cursor: bool,
}

fn is_list(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("_options")
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn group(token: Option<&TokenTree>) -> Option<&Group> {
    match token {
        Some(TokenTree::Group(group)) => Some(group),
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

fn tokens(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}

fn tokens_of(source: &Source) -> Vec<TokenTree> {
    let stream = source.text.parse::<TokenStream>();
    tokens(stream.unwrap_or_else(|error| panic!("{}: {error}", source.path)))
}

/// Calls the function with each sequence of tokens: the file, and the content of each group.
fn each_sequence(sequence: &[TokenTree], f: &mut impl FnMut(&[TokenTree])) {
    f(sequence);
    for token in sequence {
        if let TokenTree::Group(group) = token {
            each_sequence(&tokens(group.stream()), f);
        }
    }
}

/// The identifiers in a sequence and its groups.
fn idents(sequence: &[TokenTree]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_sequence(sequence, &mut |tokens| {
        found.extend(tokens.iter().filter_map(|token| ident(Some(token))));
    });
    found
}

/// The lists that the driver exports.
fn exported_lists() -> BTreeMap<String, List> {
    let mut lists = BTreeMap::new();
    for source in sources_of("driver/src/api/command") {
        let sequence = tokens_of(&source);
        for at in 0..sequence.len() {
            let name = ident(sequence.get(at + 2)).filter(|name| is_list(name));
            if let (Some("macro_rules"), Some(name)) = (ident(sequence.get(at)).as_deref(), name) {
                let body = group(sequence.get(at + 3)).expect("a body").stream();
                lists.insert(name, list_of(&tokens(body)));
            }
        }
    }
    lists
}

fn list_of(body: &[TokenTree]) -> List {
    let mut list = List::default();
    list.contains
        .extend(idents(body).into_iter().filter(|name| is_list(name)));
    each_sequence(body, &mut |tokens| {
        for at in 0..tokens.len() {
            let marks = group(tokens.get(at)).filter(|group| group.delimiter() == Delimiter::Bracket);
            let (Some(marks), Some(option)) = (marks, ident(tokens.get(at + 1))) else {
                continue;
            };
            let marks = idents(&self::tokens(marks.stream()));
            if marks.contains("driver") && is_punct(tokens.get(at + 2), ':') {
                list.of_odm.insert(option, marks.contains("cursor"));
            }
        }
    });
    list
}

/// The options with the mark `driver` of a list and of those it contains.
fn options_of_odm(lists: &BTreeMap<String, List>, name: &str) -> BTreeMap<String, bool> {
    let list = lists
        .get(name)
        .unwrap_or_else(|| panic!("the driver does not export {name}"));
    let mut options = list.of_odm.clone();
    for inner in &list.contains {
        options.extend(options_of_odm(lists, inner));
    }
    options
}

/// The uses of lists: `__find_options! { forward_options { options: FindOptions } }`, and `FindOptions,
/// __find_options` in the arguments of a macro that does this.
fn uses_of(source: &Source) -> Vec<Use> {
    let mut uses = Vec::new();
    each_sequence(&tokens_of(source), &mut |sequence| {
        for at in 0..sequence.len() {
            let Some(list) = ident(sequence.get(at)).filter(|name| is_list(name)) else {
                continue;
            };
            if !is_punct(sequence.get(at + 1), '!') {
                uses.push(Use {
                    list,
                    options: at.checked_sub(2).and_then(|before| ident(sequence.get(before))),
                    has_more: false,
                    without_cursor: false,
                });
                continue;
            }
            let call = tokens(group(sequence.get(at + 2)).expect("arguments").stream());
            let arguments = tokens(group(call.get(1)).expect("arguments of the macro").stream());
            uses.push(Use {
                list,
                options: ident(arguments.get(2)),
                has_more: call.len() > 2,
                without_cursor: idents(&arguments).contains("without"),
            });
        }
    });
    uses
}

/// `FindOptions` of `__find_options`.
fn type_of(list: &str) -> String {
    let capitalized = list.trim_start_matches('_').split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    capitalized.collect()
}

/// The types of options that the driver's lists define.
fn types_of(lists: &BTreeMap<String, List>) -> BTreeSet<String> {
    lists.keys().map(|list| type_of(list)).collect()
}

/// The names of the functions of a file, also of those in macros.
fn functions_of(source: &Source) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    each_sequence(&tokens_of(source), &mut |sequence| {
        for pair in sequence.windows(2) {
            if ident(pair.first()).as_deref() == Some("fn") {
                names.extend(ident(pair.get(1)));
            }
        }
    });
    names
}

/// The exception for an option of a list that a file uses.
fn exception(path: &str, list: &str, option: &str) -> Option<usize> {
    WITHOUT_SETTER
        .iter()
        .position(|(place, name, _)| *name == option && ["", list, path].contains(place))
}

#[test]
fn lists_of_options_are_used_as_a_whole() {
    let lists = exported_lists();
    let types = types_of(&lists);
    let mut wrong = Vec::new();
    for source in sources_of("odm/src") {
        for Use {
            list,
            options,
            has_more,
            ..
        } in uses_of(&source)
        {
            if has_more {
                wrong.push(format!(
                    "{}: adds options to {list}!: export the list of the command",
                    source.path
                ));
            }
            let own = type_of(&list);
            if let Some(options) = options.filter(|name| *name != own && types.contains(name)) {
                wrong.push(format!(
                    "{}: uses {list}! with {options}, which has another list",
                    source.path
                ));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn each_exported_list_is_used() {
    let lists = exported_lists();
    assert!(lists.len() > 15, "the lists were not found: {:?}", lists.keys());
    let mut used: BTreeSet<String> = lists.values().flat_map(|list| list.contains.clone()).collect();
    for source in sources_of("odm/src") {
        used.extend(uses_of(&source).into_iter().map(|used| used.list));
    }
    let unused: Vec<&String> = lists.keys().filter(|list| !used.contains(*list)).collect();
    assert_eq!(unused, Vec::<&String>::new());
}

#[test]
fn options_that_the_lists_leave_to_the_odm_have_a_setter() {
    let lists = exported_lists();
    let mut missing = Vec::new();
    let mut needed = BTreeSet::new();
    for source in sources_of("odm/src") {
        let functions = functions_of(&source);
        for Use {
            list, without_cursor, ..
        } in uses_of(&source)
        {
            for (option, is_of_cursor) in options_of_odm(&lists, &list) {
                if functions.contains(&option) || without_cursor && is_of_cursor {
                    continue;
                }
                match exception(&source.path, &list, &option) {
                    Some(exception) => _ = needed.insert(exception),
                    None => missing.push(format!("{}: no setter for `{option}` of {list}!", source.path)),
                }
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    let outdated: Vec<_> = WITHOUT_SETTER
        .iter()
        .enumerate()
        .filter(|(at, _)| !needed.contains(at))
        .collect();
    assert!(
        outdated.is_empty(),
        "exceptions that are not needed: {outdated:?}"
    );
}
