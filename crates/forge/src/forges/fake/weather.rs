//! What can happen to a forge, on demand.

use crate::ForgeError;

/// How the fake fares.
#[derive(Debug, Default)]
pub struct Weather {
    /// Errors that the next calls meet, one each.
    pub storms: std::collections::VecDeque<ForgeError>,
    /// An error that every call meets until it is taken away.
    pub siege: Option<ForgeError>,
}

impl Weather {
    pub(crate) fn strike(&mut self) -> Result<(), ForgeError> {
        match self.storms.pop_front().or_else(|| self.siege.clone()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
