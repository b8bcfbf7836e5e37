//! A setting that refers to another part of the scenario by name.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A reference: written as a name `N`, and resolved to a number `P` once the scenario is resolved. It may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<N, P> {
    name: Option<N>,
    number: Option<P>,
}

impl<N, P> Named<N, P> {
    /// The name; `None` if it was left out.
    pub fn name(&self) -> Option<&N> {
        self.name.as_ref()
    }

    /// Sets the resolved number.
    pub fn set(&mut self, number: P) {
        self.number = Some(number);
    }

    /// The resolved number, if it is known.
    pub fn number(&self) -> Option<&P> {
        self.number.as_ref()
    }
}

impl<N, P> Default for Named<N, P> {
    fn default() -> Self {
        Named {
            name: None,
            number: None,
        }
    }
}

impl<N, P> Deref for Named<N, P> {
    type Target = P;

    /// The resolved number.
    ///
    /// # Panics
    /// The name has not been resolved yet: settings are read only after they have been resolved.
    fn deref(&self) -> &P {
        self.number().expect("settings are resolved before they are read")
    }
}

impl<'de, N: Deserialize<'de>, P> Deserialize<'de> for Named<N, P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Option::deserialize(deserializer)?;
        Ok(Named { name, number: None })
    }
}

impl<N, P: Serialize> Serialize for Named<N, P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.number.serialize(serializer)
    }
}

/// The schema of an optional name.
impl<N: JsonSchema, P> JsonSchema for Named<N, P> {
    fn inline_schema() -> bool {
        Option::<N>::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        Option::<N>::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        Option::<N>::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<N>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_and_its_number_is_shown() {
        let mut class: Named<String, u8> = serde_json::from_str("\"bulk\"").unwrap();
        assert_eq!((class.name().map(String::as_str), class.number()), (Some("bulk"), None));
        class.set(3);
        assert_eq!((*class, serde_json::to_string(&class).unwrap().as_str()), (3, "3"));
        let none: Named<String, u8> = serde_json::from_str("null").unwrap();
        assert_eq!(none, Named::default());
    }
}
