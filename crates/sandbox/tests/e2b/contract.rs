//! The E2B provider keeps the same promises as the others, whatever the habits of the cluster.

use carrel_sandbox::{Provider, contract::broken_promises};

use crate::cluster::{Cluster, Habits};

#[tokio::test]
async fn it_keeps_every_promise() {
    keeps_every_promise_with(Habits::default()).await;
}

#[tokio::test]
async fn it_keeps_them_with_a_cluster_of_the_first_generation() {
    let old = Habits { knows_only_the_first_generation: true, forgets_names_of_questions: true, ..Habits::default() };
    keeps_every_promise_with(old).await;
}

#[tokio::test]
async fn it_keeps_them_with_lists_of_one_and_a_cluster_that_lists_everybody() {
    let odd = Habits { page: Some(1), ignores_the_filter: true, ..Habits::default() };
    keeps_every_promise_with(odd).await;
}

async fn keeps_every_promise_with(habits: Habits) {
    let cluster = Cluster::with(habits).await;
    // A stranger's sandbox is in the same cluster all the time.
    let stranger = carrel_model::SandboxId::from_random([200; 16]);
    let neighbour = cluster.provider_of("house2");
    let spec = carrel_sandbox::contract::usual_spec(&neighbour).await;
    neighbour.create(&stranger, &spec).await.unwrap();
    let broken = broken_promises(&|| Box::new(cluster.provider()) as Box<dyn Provider>).await;
    assert_eq!(broken, Vec::<String>::new());
    let left: Vec<_> = cluster.ledger().sandboxes.keys().cloned().collect();
    assert_eq!(left.len(), 1, "only the neighbour's is left: {left:?}");
}
