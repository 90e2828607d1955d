//! Whether the client runs on a Function-as-a-Service platform, where streams pile up while the client is suspended.

/// Goes by the environment variables that name a platform (MongoDB Handshake specification, `client.env`). Variables of two
/// platforms name none, except that Vercel runs on AWS.
pub fn is_faas(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let lambda = set("AWS_EXECUTION_ENV").is_some_and(|name| name.starts_with("AWS_Lambda_"))
        || set("AWS_LAMBDA_RUNTIME_API").is_some();
    let azure = set("FUNCTIONS_WORKER_RUNTIME").is_some();
    let google = set("K_SERVICE").is_some() || set("FUNCTION_NAME").is_some();
    let vercel = set("VERCEL").is_some();
    let platforms = [lambda || vercel, azure, google];
    platforms.into_iter().filter(|there| *there).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> bool {
        is_faas(|wanted| {
            let (_, value) = variables.iter().find(|(name, _)| *name == wanted)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn platforms_are_known_by_their_variables() {
        for variables in [
            &[("AWS_EXECUTION_ENV", "AWS_Lambda_java8")][..],
            &[("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")],
            &[("FUNCTIONS_WORKER_RUNTIME", "node")],
            &[("K_SERVICE", "service")],
            &[("FUNCTION_NAME", "function")],
            &[("VERCEL", "1")],
            &[("VERCEL", "1"), ("AWS_EXECUTION_ENV", "AWS_Lambda_nodejs")],
        ] {
            assert!(with(variables), "{variables:?}");
        }
        for variables in [
            &[][..],
            &[("AWS_EXECUTION_ENV", "EC2")],
            &[("AWS_LAMBDA_RUNTIME_API", "")],
            &[("FUNCTIONS_WORKER_RUNTIME", "node"), ("K_SERVICE", "service")],
            &[("VERCEL", "1"), ("FUNCTION_NAME", "function")],
        ] {
            assert!(!with(variables), "{variables:?}");
        }
    }
}
