//! The audit: lines are added and read, and nothing else.

use carrel_model::{
    KeyId, Role,
    audit::{AuditLine, Outcome},
    public::AuditView,
};
use carrel_store::{AuditFilter, Store, StoreError};
use futures::FutureExt;

use crate::house::{House, a_key_id, ask_for_sandbox, on_both_databases};

on_both_databases! {
    a_line_comes_back_as_it_was_written,
    nobody_can_change_or_remove_a_line,
    the_audit_pages_newest_first,
    the_audit_is_filtered_by_who_what_whom_and_how_it_ended,
    a_change_that_fails_leaves_no_line,
}

fn line(store: &Store, key: &KeyId, action: &str, subject: &str, outcome: Outcome) -> AuditLine {
    AuditLine {
        at: store.now(),
        key: Some(key.clone()),
        name: "somebody".into(),
        role: Some(Role::Admin),
        action: action.into(),
        subject: Some(subject.into()),
        origin: Some("127.0.0.1".into()),
        outcome,
        detail: Some("as it was asked".into()),
    }
}

async fn a_line_comes_back_as_it_was_written(house: House) {
    let store = house.open().await;
    let full = line(&store, &a_key_id(), "key.create", "key_1", Outcome::Done);
    let bare = AuditLine {
        key: None,
        role: None,
        subject: None,
        origin: None,
        detail: None,
        outcome: Outcome::Denied,
        ..full.clone()
    };
    store.write_audit(&full).await.unwrap();
    store.write_audit(&bare).await.unwrap();
    let read = store.list_audit(&AuditFilter::default(), 9).await.unwrap();
    let written = [AuditView::new(read[0].id, bare), AuditView::new(read[1].id, full)];
    assert_eq!(format!("{read:?}"), format!("{written:?}"));
}

async fn nobody_can_change_or_remove_a_line(house: House) {
    let store = house.open().await;
    let (key, sandbox) = (a_key_id(), ask_for_sandbox(&store).await);
    store.write_audit(&line(&store, &key, "sandbox.create", sandbox.id.as_str(), Outcome::Done)).await.unwrap();
    let before = format!("{:?}", store.list_audit(&AuditFilter::default(), 9).await.unwrap());
    for tampering in ["UPDATE audit SET name = 'nobody'", "DELETE FROM audit", "DELETE FROM audit WHERE id = 1"] {
        let refused = house.raw(tampering).await.unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{tampering}: {refused}");
    }
    if house.is_postgres() {
        house.raw("TRUNCATE audit").await.unwrap_err();
    }
    let after = format!("{:?}", store.list_audit(&AuditFilter::default(), 9).await.unwrap());
    assert_eq!(before, after);
}

async fn the_audit_pages_newest_first(house: House) {
    let store = house.open().await;
    let key = a_key_id();
    for n in 0..23 {
        store.write_audit(&line(&store, &key, "sandbox.create", &n.to_string(), Outcome::Done)).await.unwrap();
    }
    let (mut subjects, mut before) = (Vec::new(), None);
    loop {
        let page = store.list_audit(&AuditFilter { before, ..Default::default() }, 5).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        // Lines that are added meanwhile are newer than the page, and so in nobody's way.
        store.write_audit(&line(&store, &key, "key.create", "meanwhile", Outcome::Done)).await.unwrap();
        subjects.extend(page.into_iter().map(|line| line.subject.unwrap()));
    }
    assert_eq!(subjects, (0..23).rev().map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn the_audit_is_filtered_by_who_what_whom_and_how_it_ended(house: House) {
    let store = house.open().await;
    let (me, you) = (a_key_id(), a_key_id());
    let lines = [
        (&me, "key.create", "a", Outcome::Done),
        (&me, "key.revoke", "a", Outcome::Denied),
        (&you, "key.create", "b", Outcome::Denied),
        (&you, "key.create", "a", Outcome::Done),
    ];
    for (key, action, subject, outcome) in lines {
        store.write_audit(&line(&store, key, action, subject, outcome)).await.unwrap();
    }
    let all = AuditFilter::default();
    for (filter, expected) in [
        (all.clone(), 4),
        (AuditFilter { actor: Some(me.clone()), ..all.clone() }, 2),
        (AuditFilter { action: Some("key.create".into()), ..all.clone() }, 3),
        (AuditFilter { subject: Some("b".into()), ..all.clone() }, 1),
        (AuditFilter { outcome: Some(Outcome::Denied), ..all.clone() }, 2),
        (AuditFilter { actor: Some(me), outcome: Some(Outcome::Denied), ..all.clone() }, 1),
        (AuditFilter { subject: Some("' OR 1 = 1 --".into()), ..all }, 0),
    ] {
        let found = store.list_audit(&filter, 9).await.unwrap();
        assert_eq!(found.len(), expected, "{filter:?}");
    }
}

async fn a_change_that_fails_leaves_no_line(house: House) {
    let store = house.open().await;
    let line = line(&store, &a_key_id(), "key.create", "a", Outcome::Done);
    for fails in [true, false] {
        let line = line.clone();
        let done: Result<(), StoreError> = store
            .change(move |tx| {
                async move {
                    tx.audit(&line).await?;
                    if fails { Err(StoreError::Busy) } else { Ok(()) }
                }
                .boxed()
            })
            .await;
        assert_eq!(done.is_err(), fails);
        let lines = store.list_audit(&AuditFilter::default(), 9).await.unwrap().len();
        assert_eq!(lines, usize::from(!fails));
    }
}
