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
    the_oldest_of_a_sandbox_that_printed_too_much_are_forgotten_and_say_so,
    execs_are_listed_found_again_and_forgotten,
    an_exec_that_another_node_follows_by_now_is_written_by_that_one_alone,
    a_template_is_kept_replaced_and_forgotten,
    a_sandbox_remembers_how_it_sleeps_and_when_it_is_idle,
];

fn written<T>(change: Result<T, StoreError>) -> T {
    change.unwrap()
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

async fn an_exec_that_another_node_follows_by_now_is_written_by_that_one_alone(house: House) {
    let store = house.open().await;
    let (one, other) = (NodeId::from_random(random()), NodeId::from_random(random()));
    let (mut anywhere, mut at_home) = (a_sandbox(store.now()), a_sandbox(store.now()));
    (anywhere.home, at_home.home) = (None, Some(one.clone()));
    let (moves, stays) = (an_exec(&anywhere.id, &one, store.now()), an_exec(&at_home.id, &one, store.now()));
    let rows = [(anywhere, moves.clone()), (at_home, stays.clone())];
    for (sandbox, exec) in rows {
        let change = store.change(move |tx| {
            Box::pin(async move {
                tx.insert_sandbox(&sandbox, None).await?;
                tx.put_exec(&exec).await?;
                tx.extend_transcript(&exec.id, &[], Extent::new(100), false).await
            })
        });
        written(change.await);
    }
    // Only what runs where no node is needed can go on elsewhere.
    let (from, to) = (one.clone(), other.clone());
    let adopted = written(store.change(move |tx| Box::pin(async move { tx.adopt_execs(&from, &to).await })).await);
    assert_eq!(adopted, [Exec { node: other.clone(), ..moves.clone() }]);
    assert_eq!(store.execs().running(&one).await.unwrap(), std::slice::from_ref(&stays));
    assert_eq!(store.execs().running(&other).await.unwrap(), adopted);
    let late = Exec { exit_code: Some(9), status: ExecStatus::Ended, ..moves };
    let put = written(store.change(move |tx| Box::pin(async move { tx.put_exec(&late).await })).await);
    // Where there is one node alone nobody asks.
    assert!(!put || !house.is_shared(), "whoever slept was not told");
    assert_eq!(store.execs().running(&other).await.unwrap(), adopted, "whoever slept wrote over what was taken up");
    // Whoever reads what is followed by nobody any more comes to its end.
    let (id, reads) = (stays.id.clone(), store.clone());
    let reader = tokio::spawn(async move { reads.transcripts().follow(&id, 0, 10).await });
    written(store.change(move |tx| Box::pin(async move { tx.remove_node(&one).await })).await);
    assert_eq!(written(reader.await.unwrap()), None);
    assert_eq!(store.execs().find(&stays.id).await.unwrap().unwrap().status, ExecStatus::Lost);
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

async fn the_oldest_of_a_sandbox_that_printed_too_much_are_forgotten_and_say_so(house: House) {
    let store = house.open().await;
    let (mine, other) = (a_sandbox(store.now()).id, a_sandbox(store.now()).id);
    let node = NodeId::from_random(random());
    let begin = store.now();
    let print = async |sandbox: &carrel_model::SandboxId, second: i64, is_over: bool| {
        let exec = an_exec(sandbox, &node, begin + jiff::SignedDuration::from_secs(second));
        let id = exec.id.clone();
        let mut extent = Extent::new(10_000);
        let chunks = extent.take(Stream::Stdout, vec![b'x'; 5_000].into());
        let change = store.change(move |tx| {
            Box::pin(async move {
                tx.put_exec(&exec).await?;
                tx.extend_transcript(&exec.id, &chunks, extent, is_over).await
            })
        });
        written(change.await);
        id
    };
    let runs = print(&mine, 0, false).await;
    let old = print(&mine, 1, true).await;
    let middle = print(&mine, 2, true).await;
    let new = print(&mine, 3, true).await;
    let theirs = print(&other, 0, true).await;
    let length = async |id: &ExecId| store.transcripts().get(id).await.unwrap().length;

    assert_eq!(store.transcripts().thin(&mine, 20_000).await.unwrap(), 0, "so much is allowed");
    assert_eq!(store.transcripts().thin(&mine, 12_000).await.unwrap(), 5_000);
    assert!(length(&old).await < 300, "the oldest that is over goes first");
    for kept in [&runs, &middle, &new, &theirs] {
        assert_eq!(length(kept).await, 5_000);
    }
    let left = store.transcripts().read(&old, 0, 10).await.unwrap();
    let said = String::from_utf8(left[0].bytes.to_vec()).unwrap();
    assert!(left.len() == 1 && left[0].stream == Stream::Carrel, "{left:?}");
    assert!(said.contains("5000 bytes were printed here") && said.contains("12000 bytes in all"), "{said}");
    assert_eq!(store.transcripts().follow(&old, said.len() as i64, 10).await.unwrap(), None, "it is over");
    assert_eq!(store.transcripts().follow(&old, 4_000, 10).await.unwrap(), None, "whoever was further has its end");
    assert_eq!(store.transcripts().get(&old).await.unwrap().dropped, 5_000);
    assert_eq!(store.transcripts().thin(&mine, 12_000).await.unwrap(), 0, "once");
    assert_eq!(store.transcripts().thin(&mine, 0).await.unwrap(), 10_000, "what runs is not touched");
    assert_eq!(length(&runs).await, 5_000);
}
