//! Tenants in one collection: handles with a scope, models of one kind each, and joins within a scope.
//!
//! `cargo run --example workspaces` connects to `MONGODB_URI`, or to an in-process replica set if it is not set. It uses the database
//! `marula_workspaces`, which it drops first.

use std::error::Error as StdError;

use marula::schema::SyncMode;
use marula::{Collection, Database, Document, Result, Shape, prelude::*};
use marula_examples::deployment::Deployment;

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "boards", index(workspace, name, unique))]
pub(crate) struct Board {
    pub(crate) _id: i64,
    pub(crate) workspace: i64,
    pub(crate) name: String,
}

/// A card with a task. Tasks and notes are in one collection.
#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "cards", kind = "task", index(workspace, board))]
pub(crate) struct Task {
    pub(crate) _id: i64,
    pub(crate) workspace: i64,
    pub(crate) board: i64,
    pub(crate) title: String,
    pub(crate) done: bool,
}

/// A card with a note.
#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "cards", kind = "note", index(workspace, board))]
pub(crate) struct Note {
    pub(crate) _id: i64,
    pub(crate) workspace: i64,
    pub(crate) board: i64,
    pub(crate) text: String,
}

#[derive(Debug, Shape)]
pub(crate) struct BoardWithTasks {
    #[document(flatten)]
    pub(crate) board: Board,
    pub(crate) tasks: Vec<Task>,
}

/// The documents of one workspace. A request makes it from the workspace of its user, and has no other handles.
pub(crate) struct Workspace {
    pub(crate) boards: Collection<Board>,
    pub(crate) tasks: Collection<Task>,
    pub(crate) notes: Collection<Note>,
}

impl Workspace {
    pub(crate) fn new(db: &Database, id: i64) -> Self {
        Workspace {
            boards: db.collection::<Board>().scoped(|b| b.workspace().eq(id)),
            tasks: db.collection::<Task>().scoped(|t| t.workspace().eq(id)),
            notes: db.collection::<Note>().scoped(|n| n.workspace().eq(id)),
        }
    }

    /// The boards with their tasks that are not done. `within` keeps the tasks of other workspaces out.
    pub(crate) async fn open_tasks(&self) -> Result<Vec<BoardWithTasks>> {
        self.boards
            .aggregate()
            .sort(|b| b._id().asc())
            .lookup::<BoardWithTasks>()
            .within(&self.tasks.scoped(|t| t.done().eq(false)))
            .on(|b| b._id(), |t| t.board())
            .await
    }
}

/// Drops the data, creates the indexes, and stores two workspaces. Both have a board with the id of the other one in a card, as a faulty
/// import could have left it.
pub(crate) async fn reset(db: &Database) -> Result<()> {
    db.driver().drop().await?;
    let schema = db
        .schema()
        .register::<Board>()
        .register::<Task>()
        .register::<Note>();
    schema.sync(SyncMode::Additive).await?;
    for id in [1, 2] {
        let workspace = Workspace::new(db, id);
        let board = Board {
            _id: id,
            workspace: id,
            name: "Plan".to_owned(),
        };
        workspace.boards.insert_one(&board).await?;
        let task = |n: i64, board: i64, done: bool| Task {
            _id: id * 10 + n,
            workspace: id,
            board,
            title: format!("Task {n}"),
            done,
        };
        let tasks = [task(1, id, false), task(2, id, true), task(3, 3 - id, false)];
        workspace.tasks.insert_many(tasks).await?;
        let note = Note {
            _id: id * 10,
            workspace: id,
            board: id,
            text: "Remember the milk".to_owned(),
        };
        workspace.notes.insert_one(&note).await?;
    }
    Ok(())
}

#[tokio::main]
pub(crate) async fn main() -> std::result::Result<(), Box<dyn StdError>> {
    let deployment = Deployment::start().await?;
    let db = deployment.client.database("marula_workspaces");
    reset(&db).await?;
    let workspace = Workspace::new(&db, 1);
    for board in workspace.open_tasks().await? {
        let titles: Vec<_> = board.tasks.iter().map(|task| task.title.as_str()).collect();
        println!("{}: {titles:?}", board.board.name);
    }
    println!("{} cards are notes", workspace.notes.find_all().await?.len());
    let mut task = workspace.tasks.find_by_id(11).required().await?;
    task.workspace = 2;
    match workspace.tasks.save(&task).await {
        Err(error) if error.is_out_of_scope() => println!("refused: {error}"),
        other => println!("not refused: {other:?}"),
    }
    deployment.stop().await;
    Ok(())
}
