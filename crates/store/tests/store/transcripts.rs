//! Transcripts: every byte once, at its offset, to whoever reads, whenever they come.

use carrel_model::{ExecId, Timestamp};
use carrel_store::{Chunk, Store, Stream};
use futures::future::join_all;
use proptest::{collection::vec, prelude::*};
use tokio::sync::watch;

use crate::house::{House, an_exec, on_both_databases};

on_both_databases! {
    what_was_printed_is_read_from_any_offset,
    whatever_is_printed_a_reader_at_any_offset_gets_the_rest_of_it,
    a_transcript_is_cut_at_its_limit_with_one_marker_and_counts_the_rest,
    a_transcript_of_exactly_its_limit_is_not_cut,
    followers_that_are_slow_late_or_come_back_get_every_byte_once,
    a_closed_transcript_ends_its_followers_after_the_last_byte,
    nothing_comes_after_the_end,
    opening_a_transcript_again_changes_nothing,
    transcripts_that_ended_long_ago_are_forgotten,
    transcripts_are_never_in_the_journal,
}

const MOST: u32 = 1_000;

async fn a_transcript(store: &Store, cap: u64) -> ExecId {
    let exec = an_exec();
    store.transcripts().open(&exec, cap).await.unwrap();
    exec
}

async fn print(store: &Store, exec: &ExecId, bytes: &[u8]) -> i64 {
    store.transcripts().append(exec, Stream::Stdout, bytes).await.unwrap()
}

/// The bytes of pieces that lie side by side from an offset on.
fn joined(from: i64, chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in chunks {
        assert_eq!(chunk.offset, from + bytes.len() as i64, "pieces lie side by side");
        bytes.extend(&chunk.bytes);
    }
    bytes
}

async fn read(store: &Store, exec: &ExecId, from: i64) -> Vec<u8> {
    joined(from, &store.transcripts().read(exec, from, MOST).await.unwrap())
}

fn marker(cap: i64) -> Vec<u8> {
    format!("\n[carrel: the transcript is cut here, at its limit of {cap} bytes]\n").into_bytes()
}

async fn what_was_printed_is_read_from_any_offset(house: House) {
    let store = house.open().await;
    let exec = a_transcript(&store, 1_000).await;
    assert_eq!(print(&store, &exec, b"hello ").await, 6);
    assert_eq!(store.transcripts().append(&exec, Stream::Stderr, b"world\xff\0").await.unwrap(), 13);
    assert_eq!(print(&store, &exec, b"").await, 13);

    let chunks = store.transcripts().read(&exec, 2, MOST).await.unwrap();
    let expected = [
        Chunk { offset: 2, stream: Stream::Stdout, bytes: b"llo ".to_vec().into() },
        Chunk { offset: 6, stream: Stream::Stderr, bytes: b"world\xff\0".to_vec().into() },
    ];
    assert_eq!(chunks, expected);
    assert_eq!(store.transcripts().read(&exec, 2, 1).await.unwrap(), expected[..1]);
    assert_eq!(store.transcripts().read(&exec, 13, MOST).await.unwrap(), []);
    assert_eq!(store.transcripts().read(&exec, 4_000, MOST).await.unwrap(), []);
    assert_eq!(store.transcripts().read(&exec, i64::MAX, MOST).await.unwrap(), []);
    assert_eq!(store.transcripts().read(&an_exec(), 0, MOST).await.unwrap(), []);
}

async fn whatever_is_printed_a_reader_at_any_offset_gets_the_rest_of_it(house: House) {
    let store = house.open().await;
    let plans = (vec(vec(any::<u8>(), 0..40), 0..12), 0..200u64, vec((0..300i64, 1..4u32), 1..6));
    house
        .for_all(plans, |(printed, cap, readers)| {
            let store = store.clone();
            async move {
                let exec = a_transcript(&store, cap).await;
                for bytes in &printed {
                    print(&store, &exec, bytes).await;
                }
                let all = printed.concat();
                let kept = all.len().min(cap as usize);
                let mut expected = all[..kept].to_vec();
                if kept < all.len() {
                    expected.extend(marker(cap as i64));
                }
                let stands = store.transcripts().get(&exec).await.unwrap();
                assert_eq!((stands.length, stands.dropped), (expected.len() as i64, (all.len() - kept) as i64));
                store.transcripts().close(&exec).await.unwrap();
                for (from, most) in readers {
                    let rest = expected.get(from as usize..).unwrap_or_default();
                    assert_eq!(read(&store, &exec, from).await, rest);
                    assert_eq!(follow(&store, &exec, from, most).await, rest);
                }
            }
        })
        .await;
}

async fn a_transcript_is_cut_at_its_limit_with_one_marker_and_counts_the_rest(house: House) {
    let store = house.open().await;
    let exec = a_transcript(&store, 10).await;
    print(&store, &exec, b"0123456").await;
    let length = print(&store, &exec, b"789abcd").await;
    let expected = [b"0123456789".to_vec(), marker(10)].concat();
    assert_eq!(length, expected.len() as i64);
    for _ in 0..3 {
        assert_eq!(print(&store, &exec, b"more").await, length, "the marker stands once, and nothing after it");
    }
    assert_eq!(read(&store, &exec, 0).await, expected);
    assert_eq!(store.transcripts().get(&exec).await.unwrap().dropped, 4 + 3 * 4);
    let last = store.transcripts().read(&exec, 10, MOST).await.unwrap();
    assert_eq!(last, [Chunk { offset: 10, stream: Stream::Carrel, bytes: marker(10).into() }]);
}

async fn a_transcript_of_exactly_its_limit_is_not_cut(house: House) {
    let store = house.open().await;
    let exec = a_transcript(&store, 10).await;
    print(&store, &exec, b"0123456789").await;
    assert_eq!(read(&store, &exec, 0).await, b"0123456789");
    assert_eq!(store.transcripts().get(&exec).await.unwrap().dropped, 0);
}

/// Follows to the end.
async fn follow(store: &Store, exec: &ExecId, from: i64, most: u32) -> Vec<u8> {
    let mut heard = Vec::new();
    while let Some(chunks) = store.transcripts().follow(exec, from + heard.len() as i64, most).await.unwrap() {
        heard.extend(joined(from + heard.len() as i64, &chunks));
    }
    heard
}

/// Follows to the end; at every new line it drops what it waits for, and goes on at the next node.
async fn follow_restlessly(nodes: &[Store], exec: &ExecId, from: i64, said: &mut watch::Receiver<usize>) -> Vec<u8> {
    let mut heard = Vec::new();
    for node in nodes.iter().cycle() {
        let at = from + heard.len() as i64;
        let transcripts = node.transcripts();
        tokio::select! {
            news = transcripts.follow(exec, at, 2) => match news.unwrap() {
                Some(chunks) => heard.extend(joined(at, &chunks)),
                None => break,
            },
            Ok(()) = said.changed() => {}
        }
    }
    heard
}

async fn followers_that_are_slow_late_or_come_back_get_every_byte_once(house: House) {
    let nodes = house.nodes(3).await;
    let exec = a_transcript(&nodes[0], 1_000_000).await;
    let lines: Vec<Vec<u8>> = (0..40).map(|n| format!("line {n}\n").into_bytes()).collect();
    let all = lines.concat();
    let (said, progress) = watch::channel(0);
    let mut following = Vec::new();
    for n in 0..6usize {
        let (nodes, exec, mut progress) = (nodes.clone(), exec.clone(), progress.clone());
        following.push(tokio::spawn(async move {
            let from = 7 * n as i64;
            // Some come later, one after everything was printed.
            progress.wait_for(|said| *said >= 8 * n).await.unwrap();
            let heard = match n % 2 {
                0 => follow(&nodes[n % 3], &exec, from, 1 + n as u32).await,
                _ => follow_restlessly(&nodes, &exec, from, &mut progress).await,
            };
            (from, heard)
        }));
    }
    for (n, line) in lines.iter().enumerate() {
        print(&nodes[n % 3], &exec, line).await;
        said.send_replace(n + 1);
    }
    drop(said);
    nodes[1].transcripts().close(&exec).await.unwrap();
    for followed in join_all(following).await {
        let (from, heard) = followed.unwrap();
        assert_eq!(String::from_utf8(heard).unwrap(), String::from_utf8(all[from as usize..].to_vec()).unwrap());
    }
}

async fn a_closed_transcript_ends_its_followers_after_the_last_byte(house: House) {
    let nodes = house.nodes(2).await;
    let exec = a_transcript(&nodes[0], 100).await;
    print(&nodes[0], &exec, b"bye").await;
    let waiting = tokio::spawn({
        let (node, exec) = (nodes[1].clone(), exec.clone());
        async move { follow(&node, &exec, 0, MOST).await }
    });
    nodes[0].transcripts().close(&exec).await.unwrap();
    assert_eq!(waiting.await.unwrap(), b"bye");
    let ended = nodes[0].transcripts().get(&exec).await.unwrap().closed_at;
    assert!(ended.is_some());
    nodes[1].transcripts().close(&exec).await.unwrap();
    assert_eq!(nodes[0].transcripts().get(&exec).await.unwrap().closed_at, ended, "it ends once");
}

async fn nothing_comes_after_the_end(house: House) {
    let store = house.open().await;
    let exec = a_transcript(&store, 100).await;
    print(&store, &exec, b"bye").await;
    store.transcripts().close(&exec).await.unwrap();
    assert_eq!(follow(&store, &exec, 0, MOST).await, b"bye");
    // A late piece: followers were told that nothing more comes, so it is counted and not kept.
    assert_eq!(print(&store, &exec, b"wait").await, 3);
    assert_eq!(read(&store, &exec, 0).await, b"bye");
    assert_eq!(store.transcripts().get(&exec).await.unwrap().dropped, 4);
}

async fn opening_a_transcript_again_changes_nothing(house: House) {
    let store = house.open().await;
    let exec = a_transcript(&store, 5).await;
    print(&store, &exec, b"abc").await;
    store.transcripts().open(&exec, 1_000).await.unwrap();
    print(&store, &exec, b"defg").await;
    assert_eq!(store.transcripts().get(&exec).await.unwrap().dropped, 2);
}

async fn transcripts_that_ended_long_ago_are_forgotten(house: House) {
    let store = house.open().await;
    let (ended, runs) = (a_transcript(&store, 100).await, a_transcript(&store, 100).await);
    print(&store, &ended, b"over").await;
    print(&store, &runs, b"runs").await;
    store.transcripts().close(&ended).await.unwrap();
    assert_eq!(store.transcripts().forget_before(Timestamp::UNIX_EPOCH).await.unwrap(), 0);
    assert_eq!(store.transcripts().forget_before(Timestamp::MAX).await.unwrap(), 1);
    assert_eq!(read(&store, &runs, 0).await, b"runs", "what still runs is kept, however old");
    assert_eq!(store.transcripts().read(&ended, 0, MOST).await.unwrap(), []);
    let (pieces,): (i64,) = house.numbers("SELECT count(*) FROM transcript_chunks").await;
    assert_eq!(pieces, 1, "its pieces went with it");
}

async fn transcripts_are_never_in_the_journal(house: House) {
    let store = house.open().await;
    let exec = a_transcript(&store, 100).await;
    print(&store, &exec, b"hello").await;
    store.transcripts().close(&exec).await.unwrap();
    assert_eq!(store.journal().span().await.unwrap().head.0, 0);
}
