//! Pages of lists: how many, and from where on.

use std::str::FromStr;

use carrel_model::{Timestamp, number::Whole};

use crate::Error;

/// How many items of a list are asked for.
pub type Limit = Whole<1, 1000>;

/// How much of a list is asked for.
#[derive(Debug, Clone, Default)]
pub struct Paging {
    /// At most so many items; a usual number when not given.
    pub limit: Option<Limit>,
    /// The `next` of the page before.
    pub cursor: Option<String>,
}

impl Paging {
    pub(crate) fn limit(&self) -> u32 {
        self.limit.map_or(100, |limit| limit.get() as u32)
    }

    /// The place after which the page begins: a time and a name.
    pub(crate) fn after<Id: FromStr>(&self) -> Result<Option<(Timestamp, Id)>, Error> {
        let read = |text: &String| {
            let (at, id) = text.split_once('.')?;
            Some((Timestamp::from_microsecond(at.parse().ok()?).ok()?, id.parse().ok()?))
        };
        self.cursor.as_ref().map(|text| read(text).ok_or_else(bad_cursor)).transpose()
    }

    /// The number after which the page begins.
    pub(crate) fn after_number(&self) -> Result<Option<i64>, Error> {
        self.cursor.as_ref().map(|text| text.parse().map_err(|_| bad_cursor())).transpose()
    }

    /// The task before which the page begins.
    pub(crate) fn after_task(&self) -> Result<Option<carrel_model::TaskId>, Error> {
        self.cursor.as_ref().map(|text| text.parse().map_err(|_| bad_cursor())).transpose()
    }

    /// Cuts a list that was read one item too far, and says how to go on.
    pub(crate) fn cut<T>(items: &mut Vec<T>, limit: u32, place: impl Fn(&T) -> String) -> Option<String> {
        if items.len() <= limit as usize {
            return None;
        }
        items.truncate(limit as usize);
        items.last().map(place)
    }

    /// The `next` of a page that ends with what was made at this moment and has this name.
    pub fn place(at: Timestamp, id: &str) -> String {
        format!("{}.{id}", at.as_microsecond())
    }
}

fn bad_cursor() -> Error {
    Error::field("cursor", "expected the `next` of an earlier page, unchanged")
}
