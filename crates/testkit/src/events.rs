//! A reader of `/api/v1/events`.

use std::pin::Pin;

use carrel_model::public::Entry;
use eventsource_stream::Eventsource;
use futures::{Stream, StreamExt};
use reqwest::RequestBuilder;

/// One event as it came over the wire.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// Its id, or the last one before it.
    pub id: String,
    /// Its data.
    pub data: String,
}

impl Event {
    /// The entry in it.
    pub fn entry(&self) -> Entry {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// A stream of events.
pub struct EventStream {
    events: Pin<Box<dyn Stream<Item = Event> + Send>>,
}

impl EventStream {
    /// Opens the stream; it must be one.
    pub async fn open(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert!(response.status().is_success());
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let events = response.bytes_stream().eventsource().filter_map(|event| async {
            let event = event.ok()?;
            Some(Event { name: event.event, id: event.id, data: event.data })
        });
        EventStream { events: Box::pin(events) }
    }

    /// The next event; nothing when the server ended the stream.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.next().await
    }

    /// The next entry.
    pub async fn entry(&mut self) -> Entry {
        self.next().await.expect("the stream ended before its time").entry()
    }
}
