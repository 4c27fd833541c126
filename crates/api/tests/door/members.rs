//! Members: people who hold keys. Invited by a link, made admins and members again, shown out.

use carrel_testkit::{House, on_both_databases};
use reqwest::Method;
use serde_json::json;

use crate::{me, refused};

on_both_databases! {
    async fn somebody_is_invited_by_a_link_promoted_and_shown_out(database: TestDatabase) {
        let house = House::open(&database).await;
        let (id, secret) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let place = format!("/api/v1/keys/{id}");
        let (status, link) = house.ask(house.request(Method::POST, &format!("{place}/link"))).await;
        assert_eq!(status.as_u16(), 201, "{link}");
        let code = link["path"].as_str().unwrap().strip_prefix("/app/sign-in#code=").unwrap().to_owned();
        let signed_in = house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"code": code})).send().await.unwrap();
        let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let who = async || {
            let (status, body) = house.ask(house.bare_request(Method::GET, "/api/v1/me").header("cookie", &cookie)).await;
            (status.as_u16(), body)
        };
        let (status, body) = who().await;
        assert_eq!((status, &body["name"], &body["role"]), (200, &json!("Ada"), &json!("member")));
        refused(401, house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"code": code}))).await;

        refused(403, house.request_as(&secret, Method::GET, "/api/v1/keys")).await;
        let change = |body| house.request(Method::PATCH, &place).json(&body);
        let (status, key) = house.ask(change(json!({"role": "admin", "name": "Ada L."}))).await;
        assert_eq!((status.as_u16(), &key["role"], &key["name"]), (200, &json!("admin"), &json!("Ada L.")), "{key}");
        assert_eq!(house.request_as(&secret, Method::GET, "/api/v1/keys").send().await.unwrap().status(), 200, "at once");
        assert_eq!(who().await.1["role"], "admin", "the browser that was signed in before, too");
        house.ask(change(json!({"role": "member"}))).await;
        refused(403, house.request_as(&secret, Method::GET, "/api/v1/keys")).await;
        refused(403, house.request_as(&secret, Method::PATCH, &place).json(&json!({"role": "admin"}))).await;
        refused(403, house.request_as(&secret, Method::POST, &format!("{place}/link"))).await;

        assert_eq!(house.request(Method::DELETE, &place).send().await.unwrap().status(), 204);
        assert_eq!((who().await.0, me(&house, &secret).await.as_u16()), (401, 401));
        refused(409, house.request(Method::POST, &format!("{place}/link"))).await;
        refused(409, change(json!({"role": "admin"}))).await;
        house.close().await;
        database.drop().await;
    }

    async fn there_is_always_an_admin_and_programs_do_not_become_people(database: TestDatabase) {
        let house = House::open(&database).await;
        let (_, own) = house.ask(house.request(Method::GET, "/api/v1/me")).await;
        let own = format!("/api/v1/keys/{}", own["key_id"].as_str().unwrap());
        let problem = refused(409, house.request(Method::PATCH, &own).json(&json!({"role": "member"}))).await;
        assert!(problem["detail"].as_str().unwrap().contains("last good admin"), "{problem}");
        let (status, _) = house.ask(house.request(Method::PATCH, &own).json(&json!({"name": "the owner"}))).await;
        assert_eq!(status.as_u16(), 200, "another name is another matter");
        let (agent, _) = house.mint(json!({"name": "scout", "role": "agent", "agent_id": "scout"})).await;
        let agent = format!("/api/v1/keys/{agent}");
        refused(409, house.request(Method::PATCH, &agent).json(&json!({"role": "admin"}))).await;
        refused(409, house.request(Method::POST, &format!("{agent}/link"))).await;
        refused(422, house.request(Method::PATCH, &own).json(&json!({"role": "agent"}))).await;
        refused(422, house.request(Method::PATCH, &own).json(&json!({"name": ""}))).await;
        refused(404, house.request(Method::PATCH, "/api/v1/keys/key_0000000000000000").json(&json!({"name": "x"}))).await;
        house.mint(json!({"name": "another", "role": "admin"})).await;
        let (status, key) = house.ask(house.request(Method::PATCH, &own).json(&json!({"role": "member"}))).await;
        assert_eq!((status.as_u16(), &key["role"]), (200, &json!("member")));
        house.close().await;
        database.drop().await;
    }
}
