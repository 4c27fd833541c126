//! How proto3 JSON writes what JSON has no word for: bytes, 64-bit numbers, enums, and `null` for "as if absent".

use serde::{Deserialize, Deserializer};

/// A field that is `null` is a field that is absent.
pub(super) fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// Whether a value may be left out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Bytes are standard base64; the URL-safe alphabet and missing padding are understood.
pub(super) mod base64_bytes {
    use base64::{
        Engine, alphabet,
        engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
    };
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );

    pub(crate) fn serialize<S: Serializer>(bytes: &Option<Bytes>, to: S) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => to.serialize_str(&STANDARD.encode(bytes)),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
        let Some(text) = Option::<Text<'de>>::deserialize(from)? else { return Ok(None) };
        let text = text.0;
        let bytes = if text.bytes().any(|byte| byte == b'-' || byte == b'_') {
            LENIENT.decode(text.replace('-', "+").replace('_', "/"))
        } else {
            LENIENT.decode(text.as_ref())
        };
        bytes.map(|bytes| Some(bytes.into())).map_err(D::Error::custom)
    }

    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
}

/// 64-bit numbers are strings, since JavaScript has no such numbers.
pub(super) mod long {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(i64),
        Text(String),
    }

    pub(crate) fn serialize<S: Serializer>(number: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        match Option::<Either>::deserialize(from)? {
            None => Ok(0),
            Some(Either::Number(number)) => Ok(number),
            Some(Either::Text(text)) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// Enums are written by name and read by name or number.
macro_rules! names {
    ($(#[$about:meta])* $module:ident, [$($number:literal => $name:literal),+ $(,)?]) => {
        $(#[$about])*
        pub(crate) mod $module {
            use serde::{Deserialize, Deserializer, Serializer, de::Error};

            #[derive(Deserialize)]
            #[serde(untagged)]
            enum Either {
                Number(i32),
                Text(String),
            }

            pub(crate) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
                match number {
                    $($number => to.serialize_str($name),)+
                    other => to.serialize_i32(*other),
                }
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
                match Option::<Either>::deserialize(from)? {
                    None => Ok(0),
                    Some(Either::Number(number)) => Ok(number),
                    Some(Either::Text(text)) => match text.as_str() {
                        $($name => Ok($number),)+
                        other => Err(D::Error::custom(format!("{other} is not one of the names"))),
                    },
                }
            }
        }
    };
}
pub(super) use names;
