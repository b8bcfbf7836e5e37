//! A value, or a list of them.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// The type name that tells the reader of scenarios that an array is allowed. The reader picks the variant by the
/// presence of an array, so errors in a single value do not mention lists.
pub const ONE_OR_MANY: &str = "OneOrMany";

/// One value or a list of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneOrMany<T> {
    /// One, without brackets.
    One(T),
    /// A list.
    Many(Vec<T>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrManyVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<OneOrMany<T>, D::Error> {
                T::deserialize(deserializer).map(OneOrMany::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMany<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(OneOrMany::Many(list))
            }
        }
        deserializer.deserialize_newtype_struct(ONE_OR_MANY, OneOrManyVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            OneOrMany::One(value) => value.serialize(serializer),
            OneOrMany::Many(list) => list.serialize(serializer),
        }
    }
}

impl<T> OneOrMany<T> {
    /// Whether it is a single value, written without brackets.
    pub const fn is_one(&self) -> bool {
        matches!(self, OneOrMany::One(_))
    }

    /// The values.
    pub fn list(&self) -> &[T] {
        match self {
            OneOrMany::One(value) => std::slice::from_ref(value),
            OneOrMany::Many(list) => list,
        }
    }

    /// The values, each with its key below `key`.
    pub fn keyed(self, key: &str) -> Vec<(String, T)> {
        match self {
            OneOrMany::One(value) => vec![(key.to_string(), value)],
            OneOrMany::Many(list) => {
                let keyed = |(at, value)| (format!("{key}.{at}"), value);
                list.into_iter().enumerate().map(keyed).collect()
            }
        }
    }
}
