//! What our doors answer, as tools are told it: from the description of the API, which comes from the types themselves.
//!
//! One level deep, and nothing is required: a model learns what it may find, and no client refuses an answer that grew.

use std::sync::LazyLock;

use axum::http::Method;
use serde_json::{Map, Value, json};

static API: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(crate::openapi()).unwrap_or_default());

/// The schema of the good answer of a door. The path begins behind `/api/v1`.
pub(super) fn of(method: &Method, path: &str) -> Value {
    let found = find(method, path).map(|schema| fields(schema, 0)).unwrap_or_default();
    json!({"type": "object", "properties": found})
}

/// Names in a path are ours to choose: the places alone are compared.
fn find(method: &Method, path: &str) -> Option<&'static Value> {
    let places = |path: &str| -> Vec<String> {
        let parts = path.trim_matches('/').split('/');
        parts.map(|part| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() }).collect()
    };
    let wanted = places(&format!("/api/v1{path}"));
    let (_, door) = API["paths"].as_object()?.iter().find(|(path, _)| places(path) == wanted)?;
    let answers = door[method.as_str().to_ascii_lowercase()]["responses"].as_object()?;
    let good = answers.iter().filter(|(status, _)| status.starts_with('2'));
    good.map(|(_, answer)| &answer["content"]["application/json"]["schema"]).find(|schema| !schema.is_null())
}

/// The fields of a thing, also of one that is put together of others.
fn fields(schema: &'static Value, depth: usize) -> Map<String, Value> {
    /// Nothing is put together of so many; whatever refers to itself ends here.
    const DEEPEST: usize = 8;
    let (schema, mut all) = (resolved(schema), Map::new());
    if depth > DEEPEST {
        return all;
    }
    for part in ["allOf", "oneOf", "anyOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
        for (name, field) in fields(part, depth + 1) {
            // What differs from one kind to the other is only named.
            let same = all.get(&name).is_none_or(|known| *known == field);
            all.insert(name, if same { field } else { json!({}) });
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        all.insert(name.clone(), plain(field));
    }
    all
}

/// What a field is, without what is inside it.
fn plain(field: &'static Value) -> Value {
    let of = resolved(field);
    let mut plain = Map::new();
    if let Some(kind) = of.get("type") {
        plain.insert("type".into(), kind.clone());
    }
    if let Some(about) = field.get("description").or_else(|| of.get("description")) {
        plain.insert("description".into(), about.clone());
    }
    Value::Object(plain)
}

fn resolved(schema: &'static Value) -> &'static Value {
    let named = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    named.and_then(|place| API.pointer(place)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Does, Gives, all},
        *,
    };

    #[test]
    fn every_tool_that_gives_a_thing_says_what_is_in_it() {
        for row in all().filter(|row| row.gives == Gives::Thing) {
            let schema = row.answer();
            assert!(schema["properties"].as_object().is_some_and(|fields| !fields.is_empty()), "{}", row.name);
        }
        let shown = of(&Method::GET, "/sandboxes/{sandbox_id}");
        for field in ["id", "phase", "template"] {
            assert!(shown["properties"][field]["description"].is_string(), "{field}: {shown}");
        }
        assert!(all().any(|row| matches!(row.does, Does::ReadsFile)));
    }
}
