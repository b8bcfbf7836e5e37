//! A setting whose default depends on other settings.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A setting that may be left out, with a default that depends on other settings. It is empty until it is filled in,
/// then reads as its value.
///
/// ```
/// use odonata_units::{Filled, Time};
///
/// let mut delay: Filled<Time> = Filled::EMPTY;
/// assert_eq!(delay.given(), None);
/// delay.fill(Time::from_ns(30));
/// delay.fill(Time::from_ns(90));
/// assert_eq!(*delay, Time::from_ns(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled<T> {
    value: Option<T>,
}

impl<T> Filled<T> {
    /// Left out.
    pub const EMPTY: Filled<T> = Filled { value: None };

    /// This value.
    pub const fn new(value: T) -> Filled<T> {
        Filled { value: Some(value) }
    }

    /// The value, if it is given or filled in.
    pub const fn given(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// A mutable reference to the value.
    ///
    /// # Panics
    /// If the setting is empty.
    pub fn value_mut(&mut self) -> &mut T {
        self.value
            .as_mut()
            .expect("settings are resolved before they are changed")
    }

    /// Whether the setting is neither given nor filled in.
    pub const fn is_empty(&self) -> bool {
        self.value.is_none()
    }

    /// Sets `default` if the setting is empty.
    pub fn fill(&mut self, default: T) -> &mut T {
        self.value.get_or_insert(default)
    }
}

impl<T> Default for Filled<T> {
    fn default() -> Self {
        Filled::EMPTY
    }
}

impl<T> From<T> for Filled<T> {
    fn from(value: T) -> Self {
        Filled::new(value)
    }
}

/// Equal if the setting has a value equal to `other`.
impl<T: PartialEq> PartialEq<T> for Filled<T> {
    fn eq(&self, other: &T) -> bool {
        self.value.as_ref() == Some(other)
    }
}

impl<T> Deref for Filled<T> {
    type Target = T;

    /// The value.
    ///
    /// # Panics
    /// If the setting is empty: settings are resolved before they are read.
    #[inline]
    fn deref(&self) -> &T {
        self.value.as_ref().expect("settings are resolved before they are read")
    }
}

/// The value.
///
/// # Panics
/// If the setting is empty.
impl<T: fmt::Display> fmt::Display for Filled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Filled<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| Filled { value })
    }
}

impl<T: Serialize> Serialize for Filled<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// The schema of an optional value.
impl<T: JsonSchema> JsonSchema for Filled<T> {
    fn inline_schema() -> bool {
        Option::<T>::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        Option::<T>::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_values_stay_and_missing_ones_are_filled_in() {
        let mut given: Filled<u32> = serde_json::from_str("3").unwrap();
        let mut left_out: Filled<u32> = serde_json::from_str("null").unwrap();
        assert_eq!((given.given(), left_out.given()), (Some(&3), None));
        assert_eq!(serde_json::to_string(&left_out).unwrap(), "null");
        assert_eq!((*given.fill(5), *left_out.fill(5)), (3, 5));
        assert_eq!((*given, *left_out), (3, 5));
        assert_eq!(serde_json::to_string(&left_out).unwrap(), "5");
    }

    #[test]
    #[should_panic(expected = "resolved")]
    fn unfilled_values_cannot_be_read() {
        let _ = *Filled::<u32>::EMPTY;
    }
}
