//! A house that is about to end keeps its word to everybody in it.

use std::time::Duration;

use carrel_model::public::Cursor;
use carrel_testkit::{EventStream, House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

on_both_databases! {
    async fn readers_are_told_to_come_back_and_readiness_says_so(database: TestDatabase) {
        let house = House::open(&database).await;
        let (status, ready) = house.ask(house.bare_request(Method::GET, "/readyz")).await;
        assert_eq!((status.as_u16(), &ready["status"], &ready["database"]), (200, &json!("ready"), &json!("ok")));
        let mut events = house.events("?after=0").await;
        let seen = events.next().await.unwrap().id;

        house.control.drain();
        let response = house.bare_request(Method::GET, "/readyz").send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers().contains_key("retry-after")), (503, true));
        assert_eq!(response.json::<Value>().await.unwrap()["status"], "draining");
        assert_eq!(house.bare_request(Method::GET, "/healthz").send().await.unwrap().text().await.unwrap(), "ok\n");
        let event = events.next().await.unwrap();
        assert_eq!((&*event.name, &event.id), ("drain", &seen), "the cursor stays where it was");
        assert!(serde_json::from_str::<Value>(&event.data).unwrap()["retry_ms"].as_u64().unwrap() > 0);
        assert!(events.next().await.is_none());
        house.close().await;

        // Who comes back to the next life goes on where it left.
        let house = House::open(&database).await;
        let request = house.request(Method::GET, "/api/v1/events").header("last-event-id", &seen);
        let entry = EventStream::open(request).await.entry().await;
        assert_eq!(entry.cursor, Cursor(seen.parse::<i64>().unwrap() + 1));
        house.close().await;
        database.drop().await;
    }

    async fn a_request_that_waits_is_answered(database: TestDatabase) {
        let house = House::build(&database, Setup { create_takes: Duration::from_secs(3600), ..Setup::default() }).await;
        let mut events = house.events("?kind=sandbox").await;
        let waiting = house.request(Method::POST, "/api/v1/sandboxes?wait=ready&timeout=600").json(&json!({})).send();
        let drain = async {
            events.entry().await;
            house.control.drain();
        };
        let (answer, ()) = tokio::join!(waiting, drain);
        let answer = answer.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["carrel-waited"]), (201, &"not-yet".parse().unwrap()));
        let id = answer.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
        let gone = house.request(Method::DELETE, &format!("/api/v1/sandboxes/{id}?wait=gone")).send().await.unwrap();
        assert_eq!(gone.status(), 204, "whoever is still in may still ask");
        house.close().await;
        database.drop().await;
    }
}
