//! Patches, insert structs and changes of models with encrypted fields.

use super::{Address, Hospital, Insurance, Patient, Ssn, Ward, is_encrypted, patient};
use marula::{Error, Insert, Patch, Patched};

#[derive(Default, Patch)]
#[document(of = Patient)]
struct PatientPatch {
    name: Option<String>,
    ssn: Option<Ssn>,
    age: Option<i32>,
    notes: Patched<String>,
    allergies: Option<Vec<String>>,
    #[document(path = address.street)]
    street: Option<String>,
}

#[derive(Clone, Insert)]
#[document(of = Patient)]
struct NewPatient {
    id: i64,
    name: String,
    ssn: Ssn,
    age: i32,
    ward: Ward,
    notes: Option<String>,
    allergies: Vec<String>,
    address: Option<Address>,
    insurance: Insurance,
}

fn new_patient(id: i64) -> NewPatient {
    let patient = patient(id);
    NewPatient {
        id,
        name: patient.name,
        ssn: patient.ssn,
        age: patient.age,
        ward: patient.ward,
        notes: patient.notes,
        allergies: patient.allergies,
        address: patient.address,
        insurance: patient.insurance,
    }
}

#[tokio::test]
async fn values_are_encrypted() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.with::<Patient>().await;
    let patients = db.collection::<Patient>();
    assert_eq!(patients.insert(new_patient(3)).await.unwrap(), patient(3));
    assert_eq!(patients.insert(new_patient(1)).await.unwrap(), patient(1));
    let stored = hospital.stored(3).await;
    for name in ["ssn", "age", "ward", "remarks", "allergies", "policy"] {
        assert!(is_encrypted(stored.get(name)), "{name}: {stored}");
    }

    let patch = PatientPatch {
        ssn: Some(Ssn("9".to_owned())),
        age: Some(99),
        notes: Patched::Null,
        street: Some("Gerberngasse 2".to_owned()),
        ..PatientPatch::default()
    };
    patients.update_by_id(3, |_| &patch).required().await.unwrap();
    let stored = hospital.stored(3).await;
    assert!(
        is_encrypted(stored.get("ssn")) && !stored.contains_key("remarks"),
        "{stored}"
    );
    assert!(is_encrypted(stored.get_document("address").unwrap().get("st")));
    let found = patients.find_one(|p| p.ssn().eq("9")).await.unwrap().unwrap();
    assert_eq!((found.age, found.notes.as_ref()), (99, None));

    let mut after = found.clone();
    after.ssn = Ssn("8".to_owned());
    after.notes = Some("moved".to_owned());
    after.address.as_mut().unwrap().street = "Marktgasse 3".to_owned();
    after.insurance.policy = 7;
    patients.save_changes(&found, &after).required().await.unwrap();
    assert_eq!(
        patients.find_one(|p| p.ssn().eq("8")).await.unwrap(),
        Some(after.clone())
    );
    let stored = hospital.stored(3).await;
    for name in ["ssn", "age", "remarks", "policy"] {
        assert!(is_encrypted(stored.get(name)), "{name}: {stored}");
    }
    assert!(is_encrypted(stored.get_document("address").unwrap().get("st")));
    after.notes = None;
    after.name = "moved".to_owned();
    let before = patients.find_by_id(3).required().await.unwrap();
    patients.save_changes(&before, &after).required().await.unwrap();
    assert!(!hospital.stored(3).await.contains_key("remarks"));

    // A client that does not encrypt sends no plain value.
    let plain = hospital.db().collection::<Patient>();
    for refused in [
        plain.insert(new_patient(5)).await.map(drop),
        plain.update_by_id(3, |_| &patch).await.map(drop),
        plain.save_changes(&found, &after).await.map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(!refused.to_string().contains("Gerberngasse"), "{refused}");
        assert!(
            matches!(
                refused,
                Error::InvalidUpdate { .. }
                    | Error::Encode { .. }
                    | Error::InvalidFilter { .. }
                    | Error::InvalidArgument { .. }
            ),
            "{refused:?}"
        );
    }
    assert!(is_encrypted(hospital.stored(3).await.get("ssn")));
}
