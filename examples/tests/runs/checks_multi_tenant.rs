//! Checks the example `multi_tenant`.

use crate::multi_tenant::{Tenant, invoice, main};

#[tokio::test]
async fn a_year_of_one_tenant_is_archived() {
    let (deployment, db) = crate::start().await;
    let ada = Tenant::new(&db, "ada").unwrap();
    let bob = Tenant::new(&db, "bob").unwrap();
    for tenant in [&ada, &bob] {
        tenant.reset().await.unwrap();
        let invoices = [invoice(1, 2025), invoice(2, 2025), invoice(3, 2026)];
        tenant.invoices.insert_many(invoices).await.unwrap();
    }
    // As left by a call that was interrupted.
    ada.archive(2025).insert_one(&invoice(2, 2025)).await.unwrap();
    assert_eq!(ada.close_year(2025).await.unwrap(), 2);
    assert_eq!(ada.close_year(2025).await.unwrap(), 0);
    assert_eq!(ada.invoices.find_all().await.unwrap(), [invoice(3, 2026)]);
    assert_eq!(ada.archive(2025).find_all().await.unwrap().len(), 2);
    assert_eq!(bob.invoices.find_all().await.unwrap().len(), 3);
    assert_eq!(bob.archive(2025).find_all().await.unwrap(), []);
    let twice = ada.archive(2025).insert_one(&invoice(1, 2025)).await.unwrap_err();
    assert!(matches!(twice, marula::Error::Duplicate { .. }), "{twice}");

    for name in ["", "Ada", "a.b", "ada/../bob"] {
        assert!(Tenant::new(&db, name).is_none(), "{name}");
    }
    for tenant in [ada, bob] {
        tenant.reset().await.unwrap();
    }
    crate::stop(deployment, db).await;
}

#[test]
fn the_example_runs() {
    main().unwrap();
}
