//! From a tree to the written form: a serde deserializer that tracks the path, so that an error raised anywhere
//! contains the key and the place of the value.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use odonata_units::Number;

use super::alternatives::alternative;
use super::clock::Measure;
use super::error::quoted;
use super::tree::{Entry, Node, Place, Value};

/// What is wrong, and where, as far as is known.
// In a box: the result of every value that is read has room for an error, and 140 types are compiled to pass it on.
#[derive(Debug)]
pub(super) struct ReadError(pub(super) Box<Mistake>);

/// The content of a [`ReadError`].
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) problem: String,
    pub(super) value: Option<String>,
    pub(super) expected: String,
    pub(super) hint: Option<String>,
    /// The path and place of the value, set by the first level that knows them.
    pub(super) at: Option<(String, Place)>,
}

impl ReadError {
    fn plain(problem: String, value: Option<String>, expected: String, hint: Option<String>) -> Self {
        ReadError(Box::new(Mistake {
            problem,
            value,
            expected,
            hint,
            at: None,
        }))
    }

    /// A value that differs from the expectation. The expectation of a quantity may end with `; HINT` (see
    /// [`odonata_units::UnitError`]).
    fn mismatch(what: &str, seen: Option<String>, expected: &str) -> Self {
        let (expected, hint) = match expected.split_once("; ") {
            Some((expected, hint)) => (expected, Some(hint.to_string())),
            None => (expected, None),
        };
        let problem = match &seen {
            Some(seen) => format!("{what} {seen}"),
            None => what.into(),
        };
        ReadError::plain(problem, seen, expected.into(), hint)
    }

    fn named(what: &str, name: &str, candidates: &[&str]) -> Self {
        ReadError::plain(
            format!("unknown {what} {}", quoted(name)),
            Some(quoted(name)),
            format!("one of {}", candidates.join(", ")),
            alternative(name, candidates),
        )
    }

    /// Describes the quantity `converted`, written as `text`.
    fn of_converted(mut self, text: &str, converted: &str) -> Self {
        self.0.problem = format!("invalid value {}", quoted(text));
        self.0.value = Some(quoted(text));
        (self.0.hint).get_or_insert_with(|| format!("{} is \"{converted}\"", quoted(text)));
        self
    }

    /// Shows the value `seen` as it was `written`.
    fn shown_as(mut self, seen: &str, written: &str) -> Self {
        if self.0.value.as_deref() == Some(seen) {
            self.0.problem = self.0.problem.replace(seen, written);
            self.0.value = Some(written.into());
        }
        self
    }

    fn at(mut self, path: &Path<'_>, place: Place) -> Self {
        if self.0.at.is_none() {
            self.0.at = Some((path.to_string(), place));
        }
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.problem)
    }
}

impl std::error::Error for ReadError {}

fn seen(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Str(text) => quoted(text),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Float(number) => Number(number).to_string(),
        Unexpected::Bool(flag) => flag.to_string(),
        Unexpected::Seq => "an array".into(),
        Unexpected::Map => "a table".into(),
        other => other.to_string(),
    }
}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        ReadError::plain(message.to_string(), None, String::new(), None)
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match (unexpected, expected.to_string().as_str()) {
            (Unexpected::Map, "a sequence") => {
                "an array; every table of an array has a header of its own, [[NAME]]".into()
            }
            (_, "a sequence") => "an array".into(),
            (_, expected) => expected.to_string(),
        };
        ReadError::mismatch("wrong type of value:", Some(seen(unexpected)), &expected)
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        ReadError::mismatch("invalid value", Some(seen(unexpected)), &expected.to_string())
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        ReadError::mismatch(&format!("{length} entries"), None, &expected.to_string())
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        ReadError::named("name", variant, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        ReadError::named("key", field, expected)
    }

    fn missing_field(field: &'static str) -> Self {
        ReadError::plain(format!("the key \"{field}\" is missing"), None, String::new(), None)
    }
}

/// The keys that lead to a value, from the inside out.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = |parent: &Path<'_>| if matches!(parent, Path::Root) { "" } else { "." };
        match self {
            Path::Root => Ok(()),
            Path::Key(parent, key) => write!(f, "{parent}{}{key}", dot(parent)),
            Path::Index(parent, index) => write!(f, "{parent}{}{index}", dot(parent)),
        }
    }
}

/// The entries of a table in the order of the text, so that the first mistake is reported first.
// Outside the generic functions, which would otherwise compile a separate sort for each of the 140 types read.
fn in_text_order(table: &BTreeMap<String, Entry>) -> Vec<(&str, Place, &Node)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, entry)| (key.as_str(), entry.key, &entry.node))
        .collect();
    entries.sort_by_key(|&(_, place, _)| place);
    entries
}

/// Reads one value of the tree.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) node: &'a Node,
    pub(super) path: Path<'a>,
    /// What cycles and flits are.
    pub(super) measure: &'a Measure,
}

impl<'a> Reader<'a> {
    fn located<T>(&self, result: Result<T, ReadError>) -> Result<T, ReadError> {
        result.map_err(|error| error.at(&self.path, self.node.place))
    }

    fn wrong(&self, expected: &str) -> ReadError {
        let error = ReadError::mismatch("wrong type of value:", Some(self.node.shown()), expected);
        error.at(&self.path, self.node.place)
    }

    /// The error for a value of the right type that is not allowed.
    pub(super) fn refuse(&self, expected: &str) -> ReadError {
        let error = ReadError::mismatch("invalid value", Some(self.node.shown()), expected);
        error.at(&self.path, self.node.place)
    }

    /// Reads text that may be a quantity; cycles and flits become seconds and bytes.
    fn text<'de, V: Visitor<'de>>(self, text: &str, visitor: V) -> Result<V::Value, ReadError> {
        match self.measure.convert(text) {
            None => visitor.visit_str(text),
            Some(Ok(converted)) => visitor
                .visit_str(&converted)
                .map_err(|error: ReadError| error.of_converted(text, &converted)),
            Some(Err(none)) => Err(ReadError::plain(none.problem, Some(quoted(text)), none.expected, None)),
        }
    }

    /// Reads a choice of one of several variants: a name, or a table with one key.
    fn choice(&self, variants: &[&str]) -> Result<Choice<'_>, ReadError> {
        Ok(match &self.node.value {
            Value::String(name) => Choice {
                name,
                content: None,
                place: self.node.place,
                path: &self.path,
                measure: self.measure,
            },
            Value::Table(table) if table.len() == 1 => {
                let Some((name, entry)) = table.first_key_value() else {
                    return Err(self.wrong("a table with one key"));
                };
                Choice {
                    name,
                    content: Some(&entry.node),
                    place: entry.key,
                    path: &self.path,
                    measure: self.measure,
                }
            }
            Value::Table(table) => {
                let names: Vec<&str> = table.keys().take(8).map(String::as_str).collect();
                let error = ReadError::mismatch(
                    &format!("{} keys", table.len()),
                    Some(format!("({})", names.join(", "))).filter(|_| !names.is_empty()),
                    &format!("exactly one of {}", variants.join(", ")),
                );
                return Err(error.at(&self.path, self.node.place));
            }
            _ => return Err(self.wrong(&format!("one of {}", variants.join(", ")))),
        })
    }

    fn entries<'b>(&'b self, table: &'b BTreeMap<String, Entry>) -> Entries<'b> {
        Entries {
            entries: in_text_order(table),
            next: 0,
            path: &self.path,
            measure: self.measure,
        }
    }

    /// An error about a number that shows the number as written in the file.
    fn as_written(&self, number: f64, error: ReadError) -> ReadError {
        error.shown_as(&seen(Unexpected::Float(number)), &self.node.shown())
    }

    fn integer<'de, T, V>(
        self,
        least: &str,
        most: &str,
        visitor: V,
        visit: impl FnOnce(V, T) -> Result<V::Value, ReadError>,
    ) -> Result<V::Value, ReadError>
    where
        T: TryFrom<i64>,
        V: Visitor<'de>,
    {
        let expected = format!("a whole number from {least} to {most}");
        let Value::Integer(number) = self.node.value else {
            return Err(self.wrong(&expected));
        };
        match T::try_from(number) {
            Ok(number) => self.located(visit(visitor, number)),
            Err(_) => Err(self.refuse(&expected)),
        }
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty, $most:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            self.integer::<$type, V>(&<$type>::MIN.to_string(), $most, visitor, |v, n| v.$visit(n))
        })*
    };
}

impl<'de> de::Deserializer<'de> for Reader<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let result = match &self.node.value {
            Value::String(text) => self.text(text, visitor),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number, _) => visitor
                .visit_f64(*number)
                .map_err(|error| self.as_written(*number, error)),
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Datetime(text) => visitor.visit_str(text),
            Value::Array(items) => {
                let mut reader = Items {
                    items,
                    next: 0,
                    path: &self.path,
                    measure: self.measure,
                };
                let value = visitor.visit_seq(&mut reader);
                value.and_then(|value| reader.is_at_its_end().map(|()| value))
            }
            Value::Table(table) => visitor.visit_map(self.entries(table)),
        };
        self.located(result)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == odonata_units::ONE_OR_MANY && matches!(self.node.value, Value::Array(_)) {
            return self.deserialize_any(visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    integers! {
        deserialize_u8 visit_u8 u8, "255";
        deserialize_u16 visit_u16 u16, "65535";
        deserialize_u32 visit_u32 u32, "4294967295";
        deserialize_u64 visit_u64 u64, "9223372036854775807";
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let number = match self.node.value {
            Value::Integer(number) => number as f64,
            Value::Float(number, _) if number.is_finite() => number,
            _ => return Err(self.wrong("a finite number")),
        };
        self.located(visitor.visit_f64(number))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.node.value {
            // Not through `deserialize_any`, which would compile every struct a second time, as read from an array.
            Value::Table(table) => self.located(visitor.visit_map(self.entries(table))),
            // Serde would fill a struct from an array by position.
            _ => {
                // A type that describes its table better than its name does sets `serde(expecting)`.
                let expected = (&visitor as &dyn Expected).to_string();
                Err(self.wrong(if expected.starts_with("a table") {
                    &expected
                } else {
                    "a table"
                }))
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let choice = self.choice(variants)?;
        self.located(visitor.visit_enum(choice))
    }

    /// Names and file names are not quantities, whatever they look like.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::String(text) => self.located(visitor.visit_str(text)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u128 f32 char bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier ignored_any
    }
}

struct Items<'a> {
    items: &'a [Node],
    next: usize,
    path: &'a Path<'a>,
    measure: &'a Measure,
}

impl Items<'_> {
    /// Arrays of fixed length stop reading at their last element.
    fn is_at_its_end(&self) -> Result<(), ReadError> {
        if self.next == self.items.len() {
            return Ok(());
        }
        let expected = format!("an array of length {}", self.next);
        Err(ReadError::mismatch(
            &format!("{} entries", self.items.len()),
            None,
            &expected,
        ))
    }
}

impl<'de> de::SeqAccess<'de> for &mut Items<'_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(node) = self.items.get(self.next) else {
            return Ok(None);
        };
        let path = Path::Index(self.path, self.next);
        self.next += 1;
        let measure = self.measure;
        seed.deserialize(Reader { node, path, measure }).map(Some)
    }
}

struct Entries<'a> {
    entries: Vec<(&'a str, Place, &'a Node)>,
    next: usize,
    path: &'a Path<'a>,
    measure: &'a Measure,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some(&(key, place, _)) = self.entries.get(self.next) else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, ReadError> = key.into_deserializer();
        seed.deserialize(name)
            .map(Some)
            .map_err(|error| error.at(&Path::Key(self.path, key), place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (key, _, node) = self.entries[self.next];
        self.next += 1;
        seed.deserialize(Reader {
            node,
            path: Path::Key(self.path, key),
            measure: self.measure,
        })
    }
}

/// A variant given by its name alone or with content.
struct Choice<'a> {
    name: &'a str,
    content: Option<&'a Node>,
    place: Place,
    path: &'a Path<'a>,
    measure: &'a Measure,
}

impl<'de, 'a> de::EnumAccess<'de> for Choice<'a> {
    type Error = ReadError;
    type Variant = Choice<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let name: StrDeserializer<'_, ReadError> = self.name.into_deserializer();
        match seed.deserialize(name) {
            Ok(variant) => Ok((variant, self)),
            Err(error) if self.content.is_some() => Err(error.at(&Path::Key(self.path, self.name), self.place)),
            Err(error) => Err(error.at(self.path, self.place)),
        }
    }
}

impl Choice<'_> {
    fn content(&self) -> Result<Reader<'_>, ReadError> {
        match self.content {
            Some(node) => Ok(Reader {
                node,
                path: Path::Key(self.path, self.name),
                measure: self.measure,
            }),
            None => {
                let expected = format!("{{ {} = ... }}; \"{}\" has keys of its own", self.name, self.name);
                let error = ReadError::mismatch("wrong type of value:", Some(quoted(self.name)), &expected);
                Err(error.at(self.path, self.place))
            }
        }
    }
}

impl<'de> de::VariantAccess<'de> for Choice<'_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.content {
            None => Ok(()),
            Some(_) => {
                let error = ReadError::mismatch("wrong type of value:", Some("a table".into()), &quoted(self.name));
                Err(error.at(self.path, self.place))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self.content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        de::Deserializer::deserialize_any(self.content()?, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        de::Deserializer::deserialize_struct(self.content()?, "", fields, visitor)
    }
}
