//! Every operator of MongoDB 8.2 has a typed form, and a row in the tables of the documentation.

use std::path::Path;

/// The operators of expressions.
const EXPRESSIONS: &str = "abs acos acosh add allElementsTrue and anyElementTrue arrayElemAt arrayToObject asin asinh atan atan2 \
    atanh avg binarySize bitAnd bitNot bitOr bitXor bsonSize ceil cmp concat concatArrays cond convert cos cosh currentDate dateAdd \
    dateDiff dateFromParts dateFromString dateSubtract dateToParts dateToString dateTrunc dayOfMonth dayOfWeek dayOfYear \
    degreesToRadians divide eq exp filter first firstN floor getField gt gte hour ifNull in indexOfArray indexOfBytes indexOfCP \
    isArray isNumber isoDayOfWeek isoWeek isoWeekYear last lastN let literal ln log log10 lt lte ltrim map max maxN median \
    mergeObjects meta millisecond min minN minute mod month multiply ne not objectToArray or percentile pow radiansToDegrees rand \
    range reduce regexFind regexFindAll regexMatch replaceAll replaceOne reverseArray round rtrim second setDifference setEquals \
    setField setIntersection setIsSubset setUnion sigmoid sin sinh size slice sortArray split sqrt stdDevPop stdDevSamp strLenBytes \
    strLenCP strcasecmp substrBytes substrCP subtract sum switch tan tanh toBool toDate toDecimal toDouble toHashedIndexKey toInt \
    toLong toLower toObjectId toString toUUID toUpper trim trunc tsIncrement tsSecond type unsetField week year zip";

/// The accumulators of groups, and the functions of windows.
const ACCUMULATORS: &str = "addToSet avg bottom bottomN concatArrays count covariancePop covarianceSamp denseRank derivative \
    documentNumber expMovingAvg first firstN integral last lastN linearFill locf max maxN median mergeObjects min minMaxScaler minN \
    percentile push rank setUnion shift stdDevPop stdDevSamp sum top topN";

/// The operators without a typed form.
const UNTYPED: [(&str, &str); 9] = [
    ("accumulator", "JavaScript, which is deprecated"),
    ("function", "JavaScript, which is deprecated"),
    ("const", "the same as `$literal`"),
    ("substr", "the deprecated name of `$substrBytes`"),
    ("sampleRate", "a condition of filters; `sample` selects at random"),
    ("encStrContains", "written by filters of encrypted fields"),
    ("encStrEndsWith", "written by filters of encrypted fields"),
    ("encStrNormalizedEq", "written by filters of encrypted fields"),
    ("encStrStartsWith", "written by filters of encrypted fields"),
];

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../odm/src/term/expr");
    std::fs::read_to_string(folder.join(name)).expect("the source of the expressions")
}

#[test]
fn every_operator_has_a_function_and_a_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../odm/src/term/expr");
    let files = std::fs::read_dir(folder).expect("the folder of the expressions");
    let mut code = String::new();
    for file in files {
        let name = file.expect("a file").file_name();
        let text = source(name.to_str().expect("a name"));
        code.extend(text.lines().filter(|line| !line.trim_start().starts_with("//")));
    }
    let (expressions, accumulators) = {
        let documentation = source("mod.rs");
        let start = documentation.find("# Operators").expect("the tables");
        let tables = documentation[start..]
            .split_once("Accumulators and functions")
            .expect("two tables");
        (tables.0.to_owned(), tables.1.to_owned())
    };
    for (operators, table) in [(EXPRESSIONS, expressions), (ACCUMULATORS, accumulators)] {
        for operator in operators.split_whitespace() {
            assert!(
                table.contains(&format!("`${operator}`")),
                "no row for ${operator}"
            );
            if operator != "count" {
                assert!(
                    code.contains(&format!("\"${operator}\"")),
                    "no function for ${operator}"
                );
            }
        }
    }
    for (operator, reason) in UNTYPED {
        let is_typed = EXPRESSIONS.split_whitespace().any(|typed| typed == operator);
        assert!(!is_typed, "${operator} is typed, and listed: {reason}");
    }
}
