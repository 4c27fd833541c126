//! The way out of a plain user's sandbox: it is open again when the server is back.

use carrel_sandbox::Provider;

use crate::yard::{as_plain_user, new_id};

#[test]
fn the_gateway_is_open_again_after_the_server_died() {
    as_plain_user("gateway::the_gateway_is_open_again_after_the_server_died", async |yard| {
        let (config, spec, id) = (yard.config(), yard.spec().await, new_id());
        let named = id.clone();
        // A life of its own, which ends with everything that it listened on.
        let first = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let local = config.build().await.unwrap();
                local.create(&named, &spec).await.unwrap();
                std::mem::forget(local);
            });
        });
        first.join().unwrap();
        let next = yard.config().build().await.unwrap();
        let endpoint = next.endpoint(&id).await.unwrap();
        let envd = carrel_envd::Envd::new(endpoint.dial, endpoint.token);
        let ask = "for n in 1 2; do curl -s -m 20 -o /dev/null -w '%{http_code} ' http://127.0.0.1:49980/; done";
        assert_eq!(yard.run_by(&envd, ask).await.unwrap().out, "404 404 ", "the gateway answers");
        assert_eq!(next.lacks(&id).await.unwrap().iter().filter(|lack| lack.contains("gateway")).count(), 0);
        next.destroy(&id).await.unwrap();
        next.close().await;
    });
}
