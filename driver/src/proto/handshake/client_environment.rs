//! `client.env` of the handshake: FaaS platforms and containers ([MongoDB Handshake],
//! "client.env").
//!
//! [MongoDB Handshake]:
//! https://github.com/mongodb/specifications/blob/master/source/mongodb-handshake/handshake.md

use crate::{
    bson::{Document, doc},
    types::variables::Variables,
};

/// The platform that the application runs on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientEnvironment {
    faas: Option<Faas>,
    docker: bool,
    kubernetes: bool,
}

/// A Function-as-a-Service platform.
#[derive(Clone, Debug, PartialEq)]
struct Faas {
    name: &'static str,
    timeout_sec: Option<i32>,
    memory_mb: Option<i32>,
    region: Option<String>,
}

const AWS: &str = "aws.lambda";
const AZURE: &str = "azure.func";
const GCP: &str = "gcp.func";
const VERCEL: &str = "vercel";

impl ClientEnvironment {
    /// Detects the platform from environment variables. `docker`: whether the file `/.dockerenv`
    /// exists.
    pub fn detect(variables: Variables<'_>, docker: bool) -> Self {
        Self {
            faas: detect_faas(variables),
            docker,
            kubernetes: variables("KUBERNETES_SERVICE_HOST").is_some(),
        }
    }

    /// Whether the application runs on a FaaS platform. `serverMonitoringMode=auto` then polls.
    pub fn is_faas(&self) -> bool {
        self.faas.is_some()
    }

    /// `client.env`. `None` if it would be empty.
    pub(super) fn document(&self) -> Option<Document> {
        let mut env = Document::new();
        if let Some(faas) = &self.faas {
            env.insert("name", faas.name);
            if let Some(seconds) = faas.timeout_sec {
                env.insert("timeout_sec", seconds);
            }
            if let Some(megabytes) = faas.memory_mb {
                env.insert("memory_mb", megabytes);
            }
            if let Some(region) = &faas.region {
                env.insert("region", region);
            }
        }
        let container = match (self.docker, self.kubernetes) {
            (true, true) => Some(doc! { "runtime": "docker", "orchestrator": "kubernetes" }),
            (true, false) => Some(doc! { "runtime": "docker" }),
            (false, true) => Some(doc! { "orchestrator": "kubernetes" }),
            (false, false) => None,
        };
        if let Some(container) = container {
            env.insert("container", container);
        }
        (!env.is_empty()).then_some(env)
    }
}

fn detect_faas(variables: Variables<'_>) -> Option<Faas> {
    let is_set = |name: &str| variables(name).is_some();
    // The variable is also set on AWS platforms other than Lambda.
    let lambda = variables("AWS_EXECUTION_ENV").is_some_and(|value| value.starts_with("AWS_Lambda_"));
    let vercel = is_set("VERCEL");
    // Vercel functions run on Lambda: `vercel` takes precedence over `aws.lambda`
    // ("FaaS").
    let found = [
        (vercel, VERCEL),
        ((lambda || is_set("AWS_LAMBDA_RUNTIME_API")) && !vercel, AWS),
        (is_set("FUNCTIONS_WORKER_RUNTIME"), AZURE),
        (is_set("K_SERVICE") || is_set("FUNCTION_NAME"), GCP),
    ];
    let mut names = found
        .into_iter()
        .filter_map(|(found, name)| found.then_some(name));
    let (Some(name), None) = (names.next(), names.next()) else {
        return None;
    };
    let number = |name: &str| variables(name)?.parse().ok();
    let (timeout_sec, memory_mb, region) = match name {
        AWS => (None, number("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), "AWS_REGION"),
        GCP => (
            number("FUNCTION_TIMEOUT_SEC"),
            number("FUNCTION_MEMORY_MB"),
            "FUNCTION_REGION",
        ),
        VERCEL => (None, None, "VERCEL_REGION"),
        _ => {
            return Some(Faas {
                name,
                timeout_sec: None,
                memory_mb: None,
                region: None,
            });
        }
    };
    Some(Faas {
        name,
        timeout_sec,
        memory_mb,
        region: variables(region),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(set: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| {
            let (_, value) = set.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        }
    }

    const LAMBDA: (&str, &str) = ("AWS_EXECUTION_ENV", "AWS_Lambda_java8");

    #[test]
    fn vercel_takes_precedence_and_other_combinations_are_ignored() {
        let name = |set: &[(&str, &str)]| detect_faas(&variables(set)).map(|faas| faas.name);
        assert_eq!(name(&[LAMBDA, ("VERCEL", "1")]), Some(VERCEL));
        assert_eq!(name(&[LAMBDA, ("K_SERVICE", "x")]), None);
        assert_eq!(name(&[LAMBDA, ("VERCEL", "1"), ("FUNCTION_NAME", "x")]), None);
        assert_eq!(name(&[("AWS_LAMBDA_RUNTIME_API", "x")]), Some(AWS));
    }

    #[test]
    fn containers_are_reported_beside_functions() {
        let set = [LAMBDA, ("KUBERNETES_SERVICE_HOST", "1")];
        let env = ClientEnvironment::detect(&variables(&set), true)
            .document()
            .unwrap();
        assert_eq!(
            env,
            doc! { "name": AWS, "container": { "runtime": "docker", "orchestrator": "kubernetes" } }
        );
        assert_eq!(ClientEnvironment::detect(&|_| None, false).document(), None);
    }
}
