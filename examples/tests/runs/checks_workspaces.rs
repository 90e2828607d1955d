//! Checks the example `workspaces`.

use crate::workspaces::{Workspace, main, reset};

#[tokio::test]
async fn a_workspace_has_its_own_cards_only() {
    let (deployment, db) = crate::start().await;
    reset(&db).await.unwrap();
    for id in [1, 2] {
        let workspace = Workspace::new(&db, id);
        let boards = workspace.open_tasks().await.unwrap();
        assert_eq!(boards.len(), 1);
        assert_eq!(boards[0].board.workspace, id);
        let tasks: Vec<i64> = boards[0].tasks.iter().map(|task| task._id).collect();
        assert_eq!(tasks, [id * 10 + 1]);
        assert_eq!(workspace.notes.find_all().await.unwrap().len(), 1);
        let foreign = workspace.tasks.find_by_id((3 - id) * 10 + 1).await.unwrap();
        assert_eq!(foreign, None);
    }
    crate::stop(deployment, db).await;
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
