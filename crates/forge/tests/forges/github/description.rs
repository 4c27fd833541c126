//! GitHub's own description of its interface. The stand-in is held to it in both directions.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

use serde_json::{Map, Value, json};

/// The description, read once for each test program.
pub(crate) struct Description {
    openapi: Value,
    graphql: HashMap<String, Value>,
    validators: Mutex<HashMap<String, Arc<jsonschema::Validator>>>,
}

/// An operation that the description knows.
pub(crate) struct Operation<'d> {
    /// The path with its holes.
    pub(crate) template: &'d str,
    method: String,
    value: &'d Value,
}

/// One of the files that `scripts/setup test` installs.
pub(crate) fn file(name: &str) -> Value {
    let home = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = home("CARREL_CACHE")
        .or_else(|| home("XDG_CACHE_HOME").map(|path| path.join("carrel")))
        .or_else(|| home("HOME").map(|path| path.join(".cache/carrel")))
        .expect("a home");
    let path = cache.join("github").join(name);
    let text = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{} is needed ({error}); scripts/setup test installs it", path.display());
    });
    serde_json::from_slice(&text).unwrap()
}

/// The description.
pub(crate) fn description() -> &'static Description {
    static READ: OnceLock<Description> = OnceLock::new();
    READ.get_or_init(|| {
        let graphql = file("graphql.json")["__schema"]["types"].take();
        let Value::Array(types) = graphql else { panic!("no types in graphql.json") };
        Description {
            openapi: file("openapi.json"),
            graphql: types.into_iter().map(|kind| (kind["name"].as_str().unwrap().to_owned(), kind)).collect(),
            validators: Mutex::default(),
        }
    })
}

impl Description {
    /// One of GitHub's examples.
    pub(crate) fn example(&self, name: &str) -> Value {
        let value = &self.openapi["components"]["examples"][name]["value"];
        assert!(!value.is_null(), "there is no example {name}");
        value.clone()
    }

    /// The operation behind a method and path: of several the one with the fewest holes.
    pub(crate) fn operation(&self, method: &str, path: &str) -> Option<Operation<'_>> {
        let paths = self.openapi["paths"].as_object().unwrap();
        let fitting = paths.iter().filter(|(template, value)| fits(template, path) && !value[method].is_null());
        let (template, value) =
            fitting.min_by_key(|(template, _)| (template.matches('{').count(), std::cmp::Reverse(template.len())))?;
        Some(Operation { template, method: method.to_owned(), value: &value[method] })
    }

    /// What is wrong with a request: unknown or malformed parameters, a body that does not fit.
    pub(crate) fn complaints_of_request(
        &self,
        operation: &Operation<'_>,
        query: &[(String, String)],
        body: Option<&Value>,
    ) -> Vec<String> {
        let mut complaints = Vec::new();
        let parameters: Vec<_> =
            operation.value["parameters"].as_array().into_iter().flatten().map(|p| self.resolve(p)).collect();
        for (name, text) in query {
            match parameters.iter().find(|p| p["in"] == "query" && p["name"] == name.as_str()) {
                None => complaints.push(format!("{}: there is no parameter `{name}`", operation.template)),
                Some(parameter) => {
                    let value = match parameter["schema"]["type"].as_str() {
                        Some("integer") => text.parse::<i64>().map_or(json!(text), |number| json!(number)),
                        Some("boolean") => text.parse::<bool>().map_or(json!(text), |yes| json!(yes)),
                        _ => json!(text),
                    };
                    let what = format!("{} {} ?{name}", operation.method, operation.template);
                    complaints.extend(self.complaints(&what, &parameter["schema"], &value));
                }
            }
        }
        let wanted = self.resolve(&operation.value["requestBody"]);
        let schema = &wanted["content"]["application/json"]["schema"];
        let what = format!("body of {} {}", operation.method, operation.template);
        match body {
            Some(_) if schema.is_null() => complaints.push(format!("{what}: none is described")),
            Some(body) => {
                complaints.extend(self.complaints(&what, schema, body));
                // The description lets unknown fields pass; we do not write any.
                let known = schema["properties"].as_object();
                for name in body.as_object().into_iter().flat_map(Map::keys) {
                    if known.is_some_and(|known| !known.contains_key(name)) {
                        complaints.push(format!("{what}: there is no field `{name}`"));
                    }
                }
            }
            None if wanted["required"] == true => complaints.push(format!("{what}: it is missing")),
            None => {}
        }
        complaints
    }

    /// What is wrong with an answer.
    pub(crate) fn complaints_of_answer(
        &self,
        operation: &Operation<'_>,
        status: u16,
        body: Option<&Value>,
    ) -> Vec<String> {
        let what = format!("{status} of {} {}", operation.method, operation.template);
        let described = self.resolve(&operation.value["responses"][status.to_string()]);
        if described.is_null() {
            return vec![format!("{what}: it is not described")];
        }
        let schema = &described["content"]["application/json"]["schema"];
        match body {
            Some(body) if !schema.is_null() => self.complaints(&what, schema, body),
            None if !schema.is_null() => vec![format!("{what}: a body is missing")],
            _ => vec![],
        }
    }

    /// Whether a status of an operation is described at all.
    pub(crate) fn describes(&self, operation: &Operation<'_>, status: u16) -> bool {
        !operation.value["responses"][status.to_string()].is_null()
    }

    /// What is wrong with a mutation and its input.
    pub(crate) fn complaints_of_mutation(&self, body: &Value) -> Vec<String> {
        let query = body["query"].as_str().unwrap_or_default();
        let parts = query.strip_prefix("mutation($input: ").and_then(|rest| rest.split_once("!) { "));
        let Some((input_type, rest)) = parts else { return vec![format!("a mutation of another form: {query}")] };
        let Some((name, rest)) = rest.split_once("(input: $input) { ") else {
            return vec![format!("no input: {query}")];
        };
        let selected = rest.trim_end_matches([' ', '}']);
        let field = |of: &str, list: &str, name: &str| {
            self.graphql[of][list].as_array().into_iter().flatten().find(|field| field["name"] == name).cloned()
        };
        let Some(mutation) = field("Mutation", "fields", name) else { return vec![format!("no mutation {name}")] };
        let mut complaints = Vec::new();
        if mutation["args"][0]["type"]["ofType"]["name"] != input_type {
            complaints.push(format!("{name} takes no {input_type}"));
        }
        let payload = mutation["type"]["name"].as_str().unwrap();
        if field(payload, "fields", selected).is_none() {
            complaints.push(format!("{payload} has no {selected}"));
        }
        let input = body["variables"]["input"].as_object().cloned().unwrap_or_default();
        for (key, value) in &input {
            match field(input_type, "inputFields", key) {
                None => complaints.push(format!("{input_type} has no {key}")),
                Some(known) => {
                    let kind =
                        if known["type"]["kind"] == "NON_NULL" { &known["type"]["ofType"] } else { &known["type"] };
                    if kind["kind"] == "ENUM" {
                        let words = &self.graphql[kind["name"].as_str().unwrap()]["enumValues"];
                        if !words.as_array().unwrap().iter().any(|word| word["name"] == *value) {
                            complaints.push(format!("{key} is no {value}"));
                        }
                    } else if !value.is_string() {
                        complaints.push(format!("{key} is no text"));
                    }
                }
            }
        }
        for known in self.graphql[input_type]["inputFields"].as_array().into_iter().flatten() {
            if known["type"]["kind"] == "NON_NULL" && !input.contains_key(known["name"].as_str().unwrap()) {
                complaints.push(format!("{input_type} needs {}", known["name"]));
            }
        }
        complaints
    }

    fn complaints(&self, what: &str, schema: &Value, value: &Value) -> Vec<String> {
        let validator = {
            let mut known = self.validators.lock().unwrap();
            let make = || Arc::new(self.validator(schema));
            Arc::clone(known.entry(what.to_owned()).or_insert_with(make))
        };
        let complain = |error: jsonschema::ValidationError<'_>| {
            format!("{what}: {} at {}", error.to_string().chars().take(300).collect::<String>(), error.instance_path())
        };
        validator.iter_errors(value).map(complain).collect()
    }

    /// A validator of a schema together with every schema that it leads to.
    fn validator(&self, schema: &Value) -> jsonschema::Validator {
        let mut needed = BTreeSet::new();
        let mut ahead = vec![schema];
        while let Some(value) = ahead.pop() {
            match value {
                Value::Object(object) => {
                    if let Some(name) =
                        object.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix(SCHEMAS))
                        && needed.insert(name.to_owned())
                    {
                        ahead.push(&self.openapi["components"]["schemas"][name]);
                    }
                    ahead.extend(object.values());
                }
                Value::Array(items) => ahead.extend(items),
                _ => {}
            }
        }
        let schemas: Map<String, Value> = needed
            .into_iter()
            .map(|name| (name.clone(), plain(&self.openapi["components"]["schemas"][&name])))
            .collect();
        let mut whole = json!({ "allOf": [plain(schema)] });
        whole["components"] = json!({ "schemas": schemas });
        jsonschema::options()
            .with_draft(jsonschema::Draft::Draft4)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .build(&whole)
            .unwrap()
    }

    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match value.get("$ref").and_then(Value::as_str) {
            Some(at) => self.openapi.pointer(at.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }
}

const SCHEMAS: &str = "#/components/schemas/";

/// A schema of OpenAPI 3.0 as plain JSON Schema: what is `nullable` may be null.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(object) => {
            let mut object: Map<String, Value> = object
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "nullable" | "example" | "examples"))
                .map(|(name, value)| {
                    (name.clone(), if name == "enum" || name == "default" { value.clone() } else { plain(value) })
                })
                .collect();
            if schema["nullable"] == true {
                object.remove("default");
                return json!({ "anyOf": [{ "type": "null" }, object] });
            }
            // In OpenAPI a reference stands alone.
            if let Some(reference) = object.get("$ref").cloned() {
                return json!({ "$ref": reference });
            }
            object.remove("xml");
            object.into()
        }
        other => other.clone(),
    }
}

/// Whether a path fits a template. `ref` may have slashes in it.
fn fits(template: &str, path: &str) -> bool {
    let (mut holes, mut parts) = (template.split('/').peekable(), path.split('/').peekable());
    loop {
        match (holes.next(), parts.next()) {
            (None, None) => return true,
            (Some("{ref}"), Some(part)) if !part.is_empty() => {
                let after = holes.peek().copied();
                while parts.peek().is_some_and(|next| Some(*next) != after) {
                    parts.next();
                }
            }
            (Some(hole), Some(part)) if hole.starts_with('{') && !part.is_empty() => {}
            (Some(word), Some(part)) if word == part => {}
            _ => return false,
        }
    }
}
