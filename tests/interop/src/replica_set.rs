//! A replica set: read preferences, direct connections, sessions, a change of the primary.

use crate::checks::Checks;
use crate::context::{Commands, Context, complaint};
use mongodb::bson::Document;
use mongodb::bson::doc;
use mongodb::error::Result;
use mongodb::options::{
    ClientOptions, ReadPreference, ReadPreferenceOptions, SelectionCriteria, ServerAddress,
};
use mongodb::{Client, Collection};
use std::collections::HashMap;

pub(crate) async fn run(checks: &mut Checks, context: &Context) -> Result<()> {
    sessions(checks, context).await?;
    if context.replica_set {
        context
            .collection("members")
            .insert_one(doc! { "_id": 1 })
            .await?;
        read_preferences(checks, context).await?;
        direct(checks, context).await?;
        causal(checks, context).await?;
        step_down(checks, context).await?;
    }
    Ok(())
}

async fn sessions(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("sessions");
    let mut session = context.client.start_session().await?;
    let own = session.id().clone();
    context.commands.clear();
    c.insert_one(doc! { "_id": 1 }).session(&mut session).await?;
    let found = c.find_one(doc! { "_id": 1 }).session(&mut session).await;
    checks.eq("session: its own write", found, Some(doc! { "_id": 1 }));
    let lsid = |name: &str| {
        let sent = context.commands.sent(name);
        sent.first()
            .and_then(|sent| sent.command.get_document("lsid").ok().cloned())
    };
    checks.is(
        "session: sent with each",
        [lsid("insert"), lsid("find")],
        [Some(own.clone()), Some(own)],
    );
    let mut cursor = c.find(doc! {}).batch_size(1).session(&mut session).await?;
    let mut count = 0;
    while cursor.next(&mut session).await.transpose()?.is_some() {
        count += 1;
    }
    checks.is("session: cursor", count, 1);
    Ok(())
}

async fn primary(context: &Context) -> Result<String> {
    let hello = context.admin(doc! { "hello": 1 }).await?;
    Ok(hello.get_str("primary").unwrap_or_default().to_owned())
}

async fn read_preferences(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("members");
    let primary = primary(context).await?;
    let none = None::<ReadPreferenceOptions>;
    for (name, preference, from_primary) in [
        ("primary", ReadPreference::Primary, Some(true)),
        (
            "primaryPreferred",
            ReadPreference::primary_preferred(none.clone()),
            Some(true),
        ),
        ("secondary", ReadPreference::secondary(none.clone()), Some(false)),
        (
            "secondaryPreferred",
            ReadPreference::secondary_preferred(none.clone()),
            Some(false),
        ),
        ("nearest", ReadPreference::nearest(none), None),
    ] {
        context.commands.clear();
        let found = c
            .find_one(doc! { "_id": 1 })
            .selection_criteria(SelectionCriteria::ReadPreference(preference))
            .await;
        checks.eq(
            &format!("read preference {name}: found"),
            found,
            Some(doc! { "_id": 1 }),
        );
        let sent = context.commands.sent("find");
        if let (Some(expected), Some(sent)) = (from_primary, sent.first()) {
            checks.is(
                &format!("read preference {name}: member"),
                sent.to == primary,
                expected,
            );
        }
    }
    let tags = HashMap::from([("dc".to_owned(), "nowhere".to_owned())]);
    let options = ReadPreferenceOptions::builder()
        .tag_sets(vec![tags, HashMap::new()])
        .build();
    context.commands.clear();
    let counted = c
        .count_documents(doc! {})
        .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::secondary(
            options,
        )))
        .await;
    checks.eq("read preference: tags, else any", counted, 1);
    context.commands.clear();
    c.insert_one(doc! { "_id": 2 }).await?;
    let sent = context.commands.sent("insert");
    checks.is(
        "writes go to the primary",
        sent.first().map(|sent| sent.to.as_str()),
        Some(primary.as_str()),
    );
    let written = c
        .aggregate([doc! { "$match": { "_id": 1 } }, doc! { "$out": "members_out" }])
        .selection_criteria(SelectionCriteria::ReadPreference(
            ReadPreference::primary_preferred(None),
        ))
        .await;
    checks.is("$out with a read preference", written.is_ok(), true);
    Ok(())
}

/// A client of one member that is not the primary.
async fn secondary(context: &Context) -> Result<(Client, Collection<Document>, Commands)> {
    let hello = context.admin(doc! { "hello": 1 }).await?;
    let primary = hello.get_str("primary").unwrap_or_default();
    let hosts = hello.get_array("hosts").cloned().unwrap_or_default();
    let host = hosts
        .iter()
        .filter_map(|host| host.as_str())
        .find(|host| *host != primary);
    let host = host.ok_or_else(|| complaint(format!("no secondary in {hello}")))?;
    let commands = Commands::default();
    let mut options = ClientOptions::builder()
        .hosts(vec![ServerAddress::parse(host)?])
        .build();
    options.direct_connection = Some(true);
    options.command_event_handler = Some(commands.handler());
    let client = Client::with_options(options)?;
    let collection = client.database(context.db.name()).collection("members");
    Ok((client, collection, commands))
}

async fn direct(checks: &mut Checks, context: &Context) -> Result<()> {
    let (client, c, _) = secondary(context).await?;
    let hello = client.database("admin").run_command(doc! { "hello": 1 }).await?;
    checks.is(
        "hello of a secondary",
        (
            hello.get_bool("isWritablePrimary").ok(),
            hello.get_bool("secondary").ok(),
        ),
        (Some(false), Some(true)),
    );
    checks.eq(
        "a secondary read directly",
        c.find_one(doc! { "_id": 1 }).await,
        Some(doc! { "_id": 1 }),
    );
    let refused = c.insert_one(doc! { "_id": 3 }).await;
    checks.code("a secondary refuses writes", 10_107, refused);
    client.shutdown().await;
    Ok(())
}

async fn causal(checks: &mut Checks, context: &Context) -> Result<()> {
    let c = context.collection("members");
    let mut session = context.client.start_session().causal_consistency(true).await?;
    c.insert_one(doc! { "_id": 10 }).session(&mut session).await?;
    let time = session.operation_time();
    checks.is("causal consistency: operation time", time.is_some(), true);
    checks.is(
        "causal consistency: cluster time",
        session.cluster_time().is_some(),
        true,
    );
    context.commands.clear();
    let read = c
        .find_one(doc! { "_id": 10 })
        .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::secondary(None)))
        .session(&mut session)
        .await;
    checks.eq(
        "causal consistency: a secondary has the write",
        read,
        Some(doc! { "_id": 10 }),
    );
    let sent = context.commands.sent("find");
    let after = sent.first().and_then(|sent| {
        sent.command
            .get_document("readConcern")
            .ok()?
            .get_timestamp("afterClusterTime")
            .ok()
    });
    checks.is("causal consistency: afterClusterTime", after, time);
    checks.is(
        "causal consistency: operation time goes on",
        session.operation_time() >= time,
        true,
    );
    Ok(())
}

async fn step_down(checks: &mut Checks, context: &Context) -> Result<()> {
    let before = primary(context).await?;
    let stepped = context
        .admin(doc! { "replSetStepDown": 60, "secondaryCatchUpPeriodSecs": 10 })
        .await;
    checks.eq("step down", stepped.map(|_| ()), ());
    let c = context.collection("members");
    checks.eq(
        "step down: the next write finds the new primary",
        c.insert_one(doc! { "_id": 20 }).await.map(|_| ()),
        (),
    );
    let after = primary(context).await?;
    checks.is(
        "step down: another primary",
        !after.is_empty() && after != before,
        true,
    );
    checks.eq(
        "step down: no document is lost",
        c.count_documents(doc! {}).await,
        4,
    );
    Ok(())
}
