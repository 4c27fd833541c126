//! What is wrong with a value, in plain words. The reader of bodies speaks of the types of our code, which nobody outside
//! has ever seen.

/// What is wrong with a JSON text. A line and a column help nobody once it is JSON.
pub(crate) fn about_json(error: &serde_json::Error) -> String {
    let said = error.to_string();
    match error.classify() {
        serde_json::error::Category::Data => plain(said.rsplit_once(" at line ").map_or(&*said, |(text, _)| text)),
        _ => plain(&said),
    }
}

/// Says a complaint of serde's in plain words. What is said in our own words already is left as it is.
pub(super) fn plain(said: &str) -> String {
    if let Some(list) = said.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')).map(|(_, rest)| rest)
    {
        return match list.strip_prefix(", expected ") {
            Some(known) => format!("nobody knows this field; expected {known}"),
            None => "nobody knows this field".to_owned(),
        };
    }
    if said.starts_with("missing field `") {
        return "it is missing".to_owned();
    }
    if said.starts_with("duplicate field `") {
        return "it is a duplicate: name it once".to_owned();
    }
    if let Some(rest) = said.strip_prefix("unknown variant `") {
        let Some((found, known)) = rest.rsplit_once("`, expected ") else { return "no such word is known".to_owned() };
        return format!("expected {known}, found `{found}`");
    }
    if said.starts_with("data did not match any variant of") {
        return "it has none of the shapes that it may have".to_owned();
    }
    if let Some((found, wanted)) = said.rsplit_once(", expected ") {
        let found = ["invalid type: ", "invalid value: "].iter().find_map(|lead| found.strip_prefix(lead)).map(thing);
        let found = found.or_else(|| {
            let length = said.strip_prefix("invalid length ")?.split(',').next()?;
            Some(format!("a list of {length}"))
        });
        return match found {
            Some(found) => format!("expected {}, found {found}", kind(wanted)),
            None => said.to_owned(),
        };
    }
    match said {
        "invalid digit found in string" | "cannot parse integer from empty string" => "expected a whole number".into(),
        "number too large to fit in target type" => "the number is too large".into(),
        "number too small to fit in target type" => "the number is too small".into(),
        "invalid float literal" | "cannot parse float from empty string" => "expected a number".into(),
        "provided string was not `true` or `false`" => "expected `true` or `false`".into(),
        said => match said.strip_prefix("EOF while parsing ") {
            Some(what) => format!("it ends in the middle of {what}"),
            None => said.to_owned(),
        },
    }
}

/// What was wanted. Our own types say it in words of their own.
fn kind(wanted: &str) -> String {
    let most = |most: u64| format!("a whole number from 0 to {most}");
    match wanted {
        "u8" => most(u8::MAX.into()),
        "u16" => most(u16::MAX.into()),
        "u32" => most(u32::MAX.into()),
        "u64" | "usize" => "a whole number of 0 or more".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a sequence" => "a list".into(),
        "unit" => "null".into(),
        "a borrowed string" | "a character" => "a string".into(),
        "string or map" | "variant identifier" => "a word".into(),
        other if other.starts_with("a nonzero ") => "a whole number of 1 or more".into(),
        other if other.starts_with("struct ") || other.contains("tagged enum") => "an object".into(),
        other if other.starts_with("enum ") => "a word".into(),
        other if other.starts_with("a tuple") || other.starts_with("tuple ") || other.starts_with("an array") => {
            "a list".into()
        }
        other => other.to_owned(),
    }
}

/// What was found.
fn thing(found: &str) -> String {
    let quoted = |lead: &str| found.strip_prefix(lead).map(|rest| rest.trim_matches('`'));
    match found {
        "map" => "an object".into(),
        "sequence" => "a list".into(),
        "null" | "unit value" | "Option value" => "null".into(),
        _ => match quoted("integer ").or_else(|| quoted("floating point ")) {
            Some(number) => format!("the number {number}"),
            None => match found.strip_prefix("string ") {
                Some(text) => format!("the text {text}"),
                None => quoted("boolean ").map_or_else(|| found.to_owned(), |is| format!("`{is}`")),
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, de::DeserializeOwned};

    use super::plain;

    /// What a reader of such values says of this one, in plain words.
    fn said<T: DeserializeOwned>(json: &str) -> String {
        let error = serde_json::from_str::<T>(json).err().map(|error| error.to_string()).unwrap_or_default();
        plain(error.rsplit_once(" at line ").map_or(&*error, |(text, _)| text))
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "it is only ever refused")]
    struct Desk {
        legs: u8,
        colour: Option<Colour>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Green,
        Brown,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only ever refused")]
    enum Either {
        Count(u8),
        Desk(Desk),
    }

    #[test]
    fn a_complaint_says_what_was_expected_and_what_was_found() {
        assert_eq!(said::<u64>("\"soon\""), "expected a whole number of 0 or more, found the text \"soon\"");
        assert_eq!(said::<u16>("-1"), "expected a whole number from 0 to 65535, found the number -1");
        assert_eq!(said::<u8>("1.5"), "expected a whole number from 0 to 255, found the number 1.5");
        assert_eq!(said::<bool>("null"), "expected a boolean, found null");
        assert_eq!(said::<String>("{}"), "expected a string, found an object");
        assert_eq!(said::<Vec<u8>>("true"), "expected a list, found `true`");
        assert_eq!(said::<Desk>("7"), "expected an object, found the number 7");
        assert_eq!(said::<Desk>("[]"), "expected an object, found a list of 0");
        assert_eq!(said::<Desk>("{}"), "it is missing");
        assert_eq!(said::<Desk>("{\"arms\": 2}"), "nobody knows this field; expected `legs` or `colour`");
        assert_eq!(said::<Desk>("{\"legs\": 4, \"legs\": 3}"), "it is a duplicate: name it once");
        assert_eq!(said::<Colour>("\"red\""), "expected `green` or `brown`, found `red`");
        assert_eq!(said::<Either>("[]"), "it has none of the shapes that it may have");
        assert_eq!(said::<Desk>("{\"legs\": "), "it ends in the middle of a value");
        assert_eq!(plain("a template name is short"), "a template name is short", "our own words stay");
    }

    #[test]
    fn no_word_of_our_code_is_in_it() {
        let values =
            ["7", "-7", "1.5", "true", "null", "\"x, expected u64\"", "[]", "[1, 2]", "{}", "{\"legs\": []}", "{"];
        let readers: [fn(&str) -> String; 12] = [
            said::<Desk>,
            said::<Colour>,
            said::<Either>,
            said::<u32>,
            said::<i64>,
            said::<f64>,
            said::<std::num::NonZeroU32>,
            said::<String>,
            said::<char>,
            said::<(u8, u8)>,
            said::<[u8; 3]>,
            said::<BTreeMap<String, u64>>,
        ];
        for value in values {
            for reader in readers {
                let said = reader(value).replace("x, expected u64", "");
                let words: Vec<_> = said.split(|letter: char| !letter.is_alphanumeric()).collect();
                let ours = [
                    "struct", "enum", "variant", "tuple", "nonzero", "u8", "u32", "u64", "i64", "f64", "EOF",
                    "sequence",
                ];
                assert!(!ours.iter().any(|word| words.contains(word)), "{value}: {said}");
                assert!(!said.contains("invalid type") && !said.contains("Desk"), "{value}: {said}");
            }
        }
    }
}
