//! How often one may ask.

use carrel_testkit::{House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::json;

use crate::{assert_problem, me, traces};

on_both_databases! {
    async fn a_key_that_asks_too_often_is_told_when_to_come_back_and_others_are_not_held_up(database: TestDatabase) {
        // One in a second, three at once: on no machine do a hundred requests take a minute and a half.
        let house = House::build(&database, Setup { rate: Some((1, 3)), ..Setup::default() }).await;
        let (_, other) = house.mint(json!({"name": "other", "role": "member"})).await;
        let mut refusals = 0;
        for _ in 0..100 {
            let response = house.request(Method::POST, "/api/v1/sandboxes").json(&json!({})).send().await.unwrap();
            if response.status() != 201 {
                let before = traces(&house).await;
                let seconds: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
                assert!((1..=2).contains(&seconds), "{seconds}");
                assert_problem(429, response).await;
                assert_eq!(traces(&house).await.audit, before.audit);
                refusals += 1;
                break;
            }
        }
        assert_eq!(refusals, 1);
        assert_eq!(me(&house, &other).await, 200);
        house.close().await;
        database.drop().await;
    }

    async fn an_address_that_is_wrong_too_often_is_not_even_written_down(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await.audit;
        let wrong = "crl_0123456789012345678901234567890123456789";
        let mut denied = 0;
        let limited = loop {
            match me(&house, wrong).await.as_u16() {
                401 => denied += 1,
                other => break other,
            }
        };
        assert_eq!((limited, denied >= 200), (429, true), "{denied}");
        assert_eq!(traces(&house).await.audit, before + denied);
        assert_eq!(me(&house, &house.key).await, 200, "a good key is let in from there all the same");
        house.close().await;
        database.drop().await;
    }
}
