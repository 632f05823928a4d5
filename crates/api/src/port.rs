//! [`PortNumber`].

use std::{fmt, num::NonZeroU16};

use serde_json::Value;

use crate::schema::{Described, Integer, ReadError, Schema, serde_by_value};

/// A TCP or UDP port, 1 to 65,535.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNumber(NonZeroU16);

impl PortNumber {
    /// The port, unless it is 0.
    pub fn new(port: u16) -> Option<Self> {
        NonZeroU16::new(port).map(Self)
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<PortNumber> for u16 {
    fn from(port: PortNumber) -> Self {
        port.get()
    }
}

impl Described for PortNumber {
    fn schema() -> Schema {
        Schema::integer(Integer { min: Some(1), max: Some(65_535), int32: true, ..Integer::default() })
    }

    fn read(value: Value) -> Result<Self, ReadError> {
        let port = <u16 as Described>::read(value)?;
        Self::new(port).ok_or_else(|| ReadError::new("must be at least 1"))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::from(self.get()))
    }
}

serde_by_value!(PortNumber);
