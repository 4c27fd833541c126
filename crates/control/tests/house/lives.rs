//! Ordinary lives.

use std::time::Duration;

use carrel_model::{public::NewSandbox, sandbox::Phase};
use carrel_sandbox::{Provider, Sighting};
use carrel_testkit::{House, Setup, on_both_databases};
use serde_json::json;

fn asking(body: serde_json::Value) -> NewSandbox {
    serde_json::from_value(body).unwrap()
}

on_both_databases! {
    async fn a_sandbox_is_made_paused_resumed_and_ended(database: TestDatabase) {
        let house = House::open(&database).await;
        let desk = house.control.sandboxes();
        let made = desk.create(&house.admin, NewSandbox::default(), None).await.unwrap().sandbox;
        let ready = house.until(&made, Phase::Ready).await;
        assert!(ready.ready_at.is_some());
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Running));

        desk.pause(&house.admin, &made.id, Default::default()).await.unwrap();
        house.until(&made, Phase::Paused).await;
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Paused));

        desk.resume(&house.admin, &made.id).await.unwrap();
        house.until(&made, Phase::Ready).await;
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Running));

        desk.destroy(&house.admin, &made.id).await.unwrap();
        let gone = house.until(&made, Phase::Gone).await;
        assert_eq!(gone.ended.unwrap().by, house.admin.key.to_string());
        assert_eq!(house.fake.inspect(&made.id).await, Ok(Sighting::Missing));
        house.close().await;
        database.drop().await;
    }

    async fn what_was_told_is_true_for_everybody_who_asks_next(database: TestDatabase) {
        // Nobody comes by to find what was missed: what is not noticed at once never is.
        let mut setup = Setup::default();
        setup.patience.sweep = Duration::from_secs(3600);
        let house = House::build(&database, setup).await;
        let desk = house.control.sandboxes();
        for _ in 0..10 {
            let made = desk.create(&house.admin, NewSandbox::default(), None).await.unwrap().sandbox;
            house.until(&made, Phase::Ready).await;
            let listed = desk.list(&house.admin, Default::default()).await.unwrap();
            let listed = listed.items.iter().find(|listed| listed.id == made.id).unwrap();
            assert_eq!(listed.phase, Phase::Ready, "a list is never behind what was told");
            for _ in 0..3 {
                desk.pause(&house.admin, &made.id, Default::default()).await.unwrap();
                house.until(&made, Phase::Paused).await;
                desk.resume(&house.admin, &made.id).await.unwrap();
                let ready = house.until(&made, Phase::Ready).await;
                assert_eq!(desk.get(&house.admin, &made.id).await.unwrap().phase, ready.phase);
            }
            desk.destroy(&house.admin, &made.id).await.unwrap();
            house.until(&made, Phase::Gone).await;
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_lifetime_that_passed_ends_a_sandbox_and_says_so(database: TestDatabase) {
        let house = House::open(&database).await;
        let new = asking(json!({"timeout_s": 1}));
        let made = house.control.sandboxes().create(&house.admin, new, None).await.unwrap().sandbox;
        let ended = house.until(&made, Phase::Gone).await.ended.unwrap();
        assert_eq!((ended.by.as_str(), ended.why.as_str()), ("lifetime", "Its lifetime of 1 s had passed."));
        assert!(ended.at >= made.expires_at.unwrap(), "it ended before its time");
        house.close().await;
        database.drop().await;
    }

    async fn a_lifetime_that_passed_pauses_a_sandbox_that_asked_for_it(database: TestDatabase) {
        let house = House::open(&database).await;
        let new = asking(json!({"timeout_s": 1, "auto_pause": true}));
        let made = house.control.sandboxes().create(&house.admin, new, None).await.unwrap().sandbox;
        let paused = house.until(&made, Phase::Paused).await;
        assert!(paused.ended.is_none());
        house.control.sandboxes().resume(&house.admin, &made.id).await.unwrap();
        let again = house.until(&made, Phase::Ready).await;
        assert!(again.expires_at > made.expires_at, "its lifetime did not start anew");
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_that_is_no_longer_wanted_is_not_waited_for(database: TestDatabase) {
        // Creating would take an hour: only calling it off ends this test.
        let setup = Setup { create_takes: Duration::from_secs(3600), ..Setup::default() };
        let house = House::build(&database, setup).await;
        let desk = house.control.sandboxes();
        let made = desk.create(&house.admin, NewSandbox::default(), None).await.unwrap().sandbox;
        house.until(&made, Phase::Preparing).await;
        desk.destroy(&house.admin, &made.id).await.unwrap();
        house.until(&made, Phase::Gone).await;
        house.close().await;
        database.drop().await;
    }

    async fn more_sandboxes_than_hands_are_all_made(database: TestDatabase) {
        let setup = Setup { steps_at_once: 2, create_takes: Duration::from_millis(5), ..Setup::default() };
        let house = House::build(&database, setup).await;
        let mut made = Vec::new();
        for _ in 0..20 {
            made.push(house.control.sandboxes().create(&house.admin, NewSandbox::default(), None).await.unwrap().sandbox);
        }
        for sandbox in made {
            house.until(&sandbox, Phase::Ready).await;
        }
        house.close().await;
        database.drop().await;
    }
}
