//! The weather over the fake provider: how it is told to fail.

use crate::ProviderError;

/// How calls go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Weather {
    /// They succeed.
    #[default]
    Clear,
    /// So many fail, then it clears up.
    Showers(u32),
    /// All of them fail.
    Storm,
}

impl Weather {
    pub(super) fn strike(&mut self) -> Result<(), ProviderError> {
        match self {
            Weather::Clear => return Ok(()),
            Weather::Showers(left @ 1..) => *left -= 1,
            Weather::Showers(_) => {
                *self = Weather::Clear;
                return Ok(());
            }
            Weather::Storm => {}
        }
        Err(ProviderError::Unavailable { why: "the fake provider is having bad weather".into() })
    }
}
