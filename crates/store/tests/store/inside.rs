//! Execs with their transcripts, templates, and how sandboxes sleep: what is written is read back the same.

use carrel_model::{
    ExecId, NodeId, Timestamp,
    exec::{Exec, ExecStatus},
    sandbox::{Depth, Lifetime, Manners, Phase, Sleep},
    template::{Template, TemplatePhase},
};
use carrel_store::{Extent, StoreError, Stream};

use crate::house::{House, a_key_id, a_sandbox, on_both_databases, random};

on_both_databases![
    an_exec_and_what_it_printed_are_kept_in_one_breath,
    a_transcript_is_cut_the_same_way_by_whoever_writes_it,
    execs_are_listed_found_again_and_forgotten,
    a_template_is_kept_replaced_and_forgotten,
    a_sandbox_remembers_how_it_sleeps_and_when_it_is_idle,
];

fn written(change: Result<(), StoreError>) {
    change.unwrap();
}

fn an_exec(sandbox: &carrel_model::SandboxId, node: &NodeId, now: Timestamp) -> Exec {
    Exec {
        id: ExecId::from_random(random()),
        sandbox: sandbox.clone(),
        command: "make".into(),
        user: None,
        cwd: Some("/work".into()),
        background: true,
        terminal: false,
        pid: Some(7),
        status: ExecStatus::Running,
        exit_code: None,
        timed_out: false,
        note: None,
        created_by: a_key_id(),
        node: node.clone(),
        started_at: now,
        ended_at: None,
    }
}

async fn an_exec_and_what_it_printed_are_kept_in_one_breath(house: House) {
    let store = house.open().await;
    let (sandbox, node) = (a_sandbox(store.now()), NodeId::from_random(random()));
    let mut exec = an_exec(&sandbox.id, &node, store.now());
    let mut extent = Extent::new(1000);
    let chunks = extent.take(Stream::Stdout, "out".into());
    let more = extent.take(Stream::Stderr, "err".into());
    exec.end(3, "exit status 3".into(), store.now());
    let (kept, id) = (exec.clone(), exec.id.clone());
    let waiting = {
        let (store, id) = (store.clone(), id.clone());
        tokio::spawn(async move {
            // Nobody has opened it yet: the bell of the first note is heard all the same.
            while store.transcripts().extent(&id).await.unwrap().is_none() {
                tokio::task::yield_now().await;
            }
            store.transcripts().follow(&id, 3, 10).await
        })
    };
    let change = store.change(move |tx| {
        Box::pin(async move {
            tx.put_exec(&exec).await?;
            let chunks: Vec<_> = chunks.into_iter().chain(more).collect();
            tx.extend_transcript(&exec.id, &chunks, extent, true).await
        })
    });
    written(change.await);
    assert_eq!(store.execs().find(&id).await.unwrap(), Some(kept));
    let read = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!((read.len(), &read[0].bytes[..], read[0].stream), (1, &b"err"[..], Stream::Stderr));
    assert_eq!(store.transcripts().follow(&id, 6, 10).await.unwrap(), None, "it is over");
}

async fn a_transcript_is_cut_the_same_way_by_whoever_writes_it(house: House) {
    let store = house.open().await;
    let (one, other) = (ExecId::from_random(random()), ExecId::from_random(random()));
    store.transcripts().open(&one, 10).await.unwrap();
    for piece in ["hello ", "world", "again"] {
        store.transcripts().append(&one, Stream::Stdout, piece.as_bytes()).await.unwrap();
    }
    let mut extent = Extent::new(10);
    let chunks: Vec<_> =
        ["hello ", "world", "again"].into_iter().flat_map(|piece| extent.take(Stream::Stdout, piece.into())).collect();
    let id = other.clone();
    let written =
        store.change(move |tx| Box::pin(async move { tx.extend_transcript(&id, &chunks, extent, false).await }));
    written.await.unwrap_or_else(|error: StoreError| panic!("{error}"));
    assert_eq!(store.transcripts().extent(&one).await.unwrap(), store.transcripts().extent(&other).await.unwrap());
    let read = store.transcripts().read(&one, 0, 100).await.unwrap();
    assert_eq!(read, store.transcripts().read(&other, 0, 100).await.unwrap());
}

async fn execs_are_listed_found_again_and_forgotten(house: House) {
    let store = house.open().await;
    let (sandbox, node) = (a_sandbox(store.now()), NodeId::from_random(random()));
    let mut made = Vec::new();
    for _ in 0..5 {
        let exec = an_exec(&sandbox.id, &node, store.now());
        made.insert(0, exec.clone());
        written(store.change(move |tx| Box::pin(async move { tx.put_exec(&exec).await })).await);
    }
    let page = store.execs().list(&sandbox.id, None, 2).await.unwrap();
    assert_eq!(page, made[..2]);
    let last = (page[1].started_at, page[1].id.clone());
    assert_eq!(store.execs().list(&sandbox.id, Some(last), 10).await.unwrap(), made[2..]);
    assert_eq!(store.execs().running(&node).await.unwrap().len(), 5);
    assert!(store.execs().running(&NodeId::from_random(random())).await.unwrap().is_empty());

    let mut row = sandbox.clone();
    row.phase = Phase::Gone;
    written(store.change(move |tx| Box::pin(async move { tx.insert_sandbox(&row, None).await })).await);
    let stranded = store.execs().stranded().await.unwrap();
    assert_eq!(stranded.len(), 5, "their sandbox is gone");
    for mut exec in stranded {
        exec.lose("its sandbox ended".into(), store.now());
        written(store.change(move |tx| Box::pin(async move { tx.put_exec(&exec).await })).await);
    }
    assert!(store.execs().stranded().await.unwrap().is_empty());
    assert_eq!(store.execs().forget_before(Timestamp::MAX).await.unwrap(), 5);
}

async fn a_template_is_kept_replaced_and_forgotten(house: House) {
    let store = house.open().await;
    let node = NodeId::from_random(random());
    let mut template = Template {
        name: "mine/own:1".parse().unwrap(),
        provider: "local".parse().unwrap(),
        phase: TemplatePhase::Building,
        source: serde_json::json!({"from": "host"}),
        origin: None,
        bytes: None,
        layers: None,
        memory: false,
        note: None,
        log: ExecId::from_random(random()),
        created_by: a_key_id(),
        node: node.clone(),
        created_at: store.now(),
        updated_at: store.now(),
        ready_at: None,
        revision: 0,
    };
    for phase in [TemplatePhase::Building, TemplatePhase::Ready] {
        template.phase = phase;
        template.bytes = Some(5);
        let mut row = template.clone();
        let put = store.change(move |tx| {
            Box::pin(async move {
                tx.put_template(&mut row).await?;
                Ok::<_, StoreError>(row)
            })
        });
        template = put.await.unwrap();
        assert_eq!(store.templates().find(&template.name).await.unwrap(), Some(template.clone()));
        assert_eq!(store.templates().unfinished(&node).await.unwrap().len(), usize::from(!phase.is_settled()));
    }
    assert_eq!((template.revision, store.templates().list().await.unwrap().len()), (2, 1));
    let last = template.clone();
    written(store.change(move |tx| Box::pin(async move { tx.remove_template(&last).await })).await);
    assert_eq!(store.templates().find(&template.name).await.unwrap(), None);
}

async fn a_sandbox_remembers_how_it_sleeps_and_when_it_is_idle(house: House) {
    let store = house.open().await;
    let mut sandbox = a_sandbox(store.now());
    sandbox.manners = Manners { auto_resume: true, idle: Lifetime::new(60) };
    sandbox.phase = Phase::Paused;
    sandbox.depth = Depth::Stored;
    sandbox.sleep = Some(Sleep { asked: Depth::Stored, reached: Depth::PagedOut });
    let row = sandbox.clone();
    written(store.change(move |tx| Box::pin(async move { tx.insert_sandbox(&row, None).await })).await);
    assert_eq!(store.sandboxes().find(&sandbox.id).await.unwrap(), Some(sandbox.clone()));
    let mut row = sandbox.clone();
    let stirred = store.change(move |tx| {
        Box::pin(async move {
            tx.stir_sandbox(&mut row).await?;
            Ok::<_, StoreError>(row)
        })
    });
    let stirred = stirred.await.unwrap();
    assert!(stirred.idle_at.is_some() && stirred.revision == sandbox.revision + 1);
    assert_eq!(store.sandboxes().find(&sandbox.id).await.unwrap(), Some(stirred));
}
