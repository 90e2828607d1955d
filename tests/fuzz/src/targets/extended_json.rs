//! The fuzz target for Extended JSON.

use marula_driver::bson::{
    from_extended_json, from_legacy_extended_json, to_canonical_json, to_relaxed_json,
};

use super::{Target, encoded};

pub(super) const TARGET: Target = Target {
    name: "extended_json",
    run,
    seeds,
};

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for read in [from_extended_json, from_legacy_extended_json] {
        let document = match read(&text) {
            Ok(document) => document,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let bytes = encoded(&document);
        let canonical = to_canonical_json(&document).expect("a parsed document can be formatted");
        let again = from_extended_json(&canonical).expect("canonical text can be parsed");
        assert_eq!(bytes, encoded(&again), "{canonical} has a different value");
        let relaxed = to_relaxed_json(&document).expect("a parsed document can be formatted");
        from_extended_json(&relaxed).expect("relaxed text can be parsed");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"a":1,"b":"x","c":[true,false,null],"d":{"e":-1.5e3}}"#,
        r#"{"i":{"$numberInt":"-7"},"l":{"$numberLong":"9223372036854775807"},"d":{"$numberDouble":"-Infinity"}}"#,
        r#"{"m":{"$numberDecimal":"-1.23E+400"},"n":{"$numberDecimal":"NaN"}}"#,
        r#"{"o":{"$oid":"56e1fc72e0c917e9c4714161"},"t":{"$timestamp":{"t":4294967295,"i":1}}}"#,
        r#"{"b":{"$binary":{"base64":"//8=","subType":"00"}},"u":{"$uuid":"c8edabc3-f738-4ca3-b68d-ab92a91478a3"}}"#,
        r#"{"d":{"$date":"1970-01-01T00:00:00.001Z"},"e":{"$date":{"$numberLong":"-62135596800001"}}}"#,
        r#"{"r":{"$regularExpression":{"pattern":"a\"b","options":"imx"}},"s":{"$symbol":"x"}}"#,
        r#"{"c":{"$code":"f()","$scope":{"x":{"$undefined":true}}},"p":{"$dbPointer":{"$ref":"b","$id":{"$oid":"56e1fc72e0c917e9c4714161"}}}}"#,
        r#"{"k":{"$minKey":1},"x":{"$maxKey":1},"q":{"$ref":"c","$id":1,"$db":"d"}}"#,
        r#"{"\u0041\ud83d\ude00":"\n\t\\\/","":{"$gt":{"$date":"2020-02-29T23:59:60Z"}}}"#,
        r#"{"old":{"$binary":"AAEC","$type":"80"},"re":{"$regex":"a","$options":"i"}}"#,
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}
