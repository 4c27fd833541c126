//! The journal over HTTP: nothing lost, nothing twice.

use carrel_model::public::{Cursor, Happening};
use carrel_testkit::{EventStream, House, on_both_databases};
use proptest::{
    collection::vec,
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use reqwest::Method;
use serde_json::json;

async fn mint(house: &House, name: &str) {
    house.mint(json!({"name": name, "role": "member"})).await;
}

/// The next entries up to this cursor; each must follow the one before.
async fn read_to(events: &mut EventStream, from: Cursor, to: Cursor) {
    for expected in from.0 + 1..=to.0 {
        let event = events.next().await.unwrap();
        assert_eq!((&*event.id, event.entry().cursor), (&*expected.to_string(), Cursor(expected)));
    }
}

on_both_databases! {
    async fn a_reader_gets_everything_after_its_cursor_and_then_what_happens(database: TestDatabase) {
        let house = House::open(&database).await;
        for name in ["one", "two", "three"] {
            mint(&house, name).await;
        }
        let head = house.control.events().head();
        for after in 0..=head.0 {
            let mut events = house.events(&format!("?after={after}")).await;
            read_to(&mut events, Cursor(after), head).await;
        }
        let (mut all, mut live) = (house.events("?after=0").await, house.events("").await);
        mint(&house, "four").await;
        let sandbox = house.ready_sandbox().await;
        read_to(&mut all, Cursor(0), Cursor(head.0 + 2)).await;
        let event = live.next().await.unwrap();
        assert_eq!((&*event.name, event.entry().cursor), ("key", Cursor(head.0 + 1)), "without a cursor, from now on");
        let event = live.next().await.unwrap();
        let Happening::Sandbox { sandbox: told } = event.entry().happening else { panic!("{event:?}") };
        assert_eq!((&*event.name, told.id), ("sandbox", sandbox.id));
        house.close().await;
        database.drop().await;
    }

    async fn the_last_event_id_goes_before_after(database: TestDatabase) {
        let house = House::open(&database).await;
        mint(&house, "one").await;
        mint(&house, "two").await;
        let request = house.request(Method::GET, "/api/v1/events?after=0").header("last-event-id", "2");
        assert_eq!(EventStream::open(request).await.entry().await.cursor, Cursor(3));
        house.close().await;
        database.drop().await;
    }

    async fn a_reader_may_ask_for_one_sandbox_one_task_or_some_kinds(database: TestDatabase) {
        let house = House::open(&database).await;
        let (one, two) = (house.ready_sandbox().await, house.ready_sandbox().await);
        let (_, of_task) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"task_id": 7}))).await;
        mint(&house, "one").await;
        for id in [one.id.as_str(), two.id.as_str(), of_task["id"].as_str().unwrap()] {
            house.request(Method::DELETE, &format!("/api/v1/sandboxes/{id}?wait=gone")).send().await.unwrap();
        }
        let last = house.control.events().head();
        mint(&house, "the end").await;

        let mut events = house.events(&format!("?after=0&sandbox_id={}", two.id)).await;
        loop {
            let Happening::Sandbox { sandbox } = events.entry().await.happening else { panic!("not asked for") };
            assert_eq!(sandbox.id, two.id);
            if sandbox.phase.is_over() {
                break;
            }
        }
        let mut events = house.events("?after=0&task_id=7").await;
        loop {
            let Happening::Sandbox { sandbox } = events.entry().await.happening else { panic!("not asked for") };
            assert_eq!(sandbox.task_id.map(i64::from), Some(7));
            if sandbox.phase.is_over() {
                break;
            }
        }
        let mut events = house.events("?after=0&kind=key").await;
        loop {
            let Happening::Key { key } = events.entry().await.happening else { panic!("not asked for") };
            if key.name == "the end" {
                break;
            }
        }
        let mut events = house.events("?after=0&kind=key,sandbox").await;
        read_to(&mut events, Cursor(0), last).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_reader_older_than_the_ledger_is_told_to_start_over_and_goes_on(database: TestDatabase) {
        let house = House::open(&database).await;
        for name in ["one", "two", "three"] {
            mint(&house, name).await;
        }
        let tomorrow = house.store.now() + jiff::SignedDuration::from_hours(24);
        house.store.journal().forget_before(tomorrow).await.unwrap();
        let forgotten = house.control.events().head();
        house.close().await;

        // Another life: nothing of it is left in memory either.
        let house = House::open(&database).await;
        let head = house.control.events().head();
        for query in ["?after=0", "?after=1", "?after=1000000", "?after=9223372036854775807"] {
            let mut events = house.events(query).await;
            let event = events.next().await.unwrap();
            let reset: serde_json::Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!((&*event.name, &reset["head"]), ("reset", &json!(house.control.events().head().0)), "{query}");
            assert_eq!((reset["oldest"].as_i64().unwrap(), &event.id), (forgotten.0 + 1, &reset["head"].to_string()));
            mint(&house, query).await;
            let Happening::Key { key } = events.entry().await.happening else { panic!("a key was minted") };
            assert_eq!(key.name, query);
        }
        let mut events = house.events(&format!("?after={}", forgotten.0)).await;
        assert_eq!(events.entry().await.cursor, head, "from the last one that was forgotten on, nothing is missing");
        house.close().await;
        database.drop().await;
    }

    async fn a_reader_who_leaves_in_mid_burst_and_comes_back_misses_nothing_and_repeats_nothing(database: TestDatabase) {
        let house = House::open(&database).await;
        let mut dice = TestRunner::default();
        for round in 0..6 {
            let begun = house.control.events().head();
            let cuts = vec(0usize..7, 60).new_tree(&mut dice).unwrap().current();
            let burst = async {
                let writers = (0..4).map(|writer| {
                    let house = &house;
                    async move {
                        for n in 0..12 {
                            mint(house, &format!("{round} {writer} {n}")).await;
                        }
                    }
                });
                futures::future::join_all(writers).await;
                mint(&house, &format!("{round} the end")).await;
            };
            let reading = async {
                let (mut last, mut heard) = (begun.0.to_string(), Vec::new());
                for cut in cuts.iter().cycle() {
                    let request = house.request(Method::GET, "/api/v1/events").header("last-event-id", &last);
                    let mut events = EventStream::open(request).await;
                    for _ in 0..*cut {
                        let event = events.next().await.unwrap();
                        last.clone_from(&event.id);
                        let entry = event.entry();
                        heard.push(entry.cursor.0);
                        if matches!(&entry.happening, Happening::Key { key } if key.name == format!("{round} the end")) {
                            return heard;
                        }
                    }
                }
                unreachable!("a cycle does not end")
            };
            let ((), heard) = tokio::join!(burst, reading);
            let expected: Vec<_> = (begun.0 + 1..=house.control.events().head().0).collect();
            assert_eq!(heard, expected, "cut at {cuts:?}");
        }
        house.close().await;
        database.drop().await;
    }
}
