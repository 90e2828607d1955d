//! Options in the TXT record of a `mongodb+srv` host (Initial DNS Seedlist Discovery, "Default
//! Connection String Options").

use super::{split::split_query, value::Reader};
use crate::options::{ClientOptions, error::OptionError};

impl ClientOptions {
    /// Sets the options of a TXT record that are not set already. Options of the connection string
    /// and of the application take precedence.
    pub(crate) fn apply_txt(&mut self, text: &str) -> Result<(), OptionError> {
        let mut reader = Reader::default();
        let (mut source, mut replica_set, mut load_balanced) = (None, None, None);
        for super::split::Pair {
            key, spelled, value, ..
        } in split_query(text)?
        {
            reader.name = spelled;
            match key.as_str() {
                "authsource" if value.is_empty() => return Err(OptionError::EmptyAuthSource),
                "authsource" => source = Some(value),
                "replicaset" if value.is_empty() => {
                    reader.warn_ignored("the name of a replica set");
                }
                "replicaset" => replica_set = Some(value),
                "loadbalanced" => load_balanced = reader.boolean(&value),
                _ => {
                    return Err(OptionError::NotInTxtRecord { option: reader.name });
                }
            }
        }
        self.auth_source = self.auth_source.take().or(source);
        self.replica_set = self.replica_set.take().or(replica_set);
        // `true` was set by the connection string or the application.
        if !self.load_balanced && !self.load_balanced_given {
            self.load_balanced = load_balanced.unwrap_or(false);
        }
        self.warnings.extend(reader.warnings);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(uri: &str, txt: &str) -> Result<ClientOptions, OptionError> {
        let mut options = ClientOptions::parse(uri).unwrap();
        options.apply_txt(txt).map(|()| options)
    }

    #[test]
    fn the_record_sets_options_that_are_not_set() {
        let options = with("mongodb+srv://a.b.c", "authSource=thisDB&replicaSet=repl0").unwrap();
        assert_eq!(options.auth_source(), Some("thisDB"));
        assert_eq!(options.replica_set.as_deref(), Some("repl0"));
        assert!(
            with("mongodb+srv://a.b.c", "loadBalanced=true")
                .unwrap()
                .load_balanced
        );
    }

    #[test]
    fn the_connection_string_takes_precedence() {
        let uri = "mongodb+srv://a.b.c/?authSource=mine&replicaSet=other&loadBalanced=false";
        let options = with(uri, "authSource=x&replicaSet=y&loadBalanced=true").unwrap();
        assert_eq!(options.auth_source(), Some("mine"));
        assert_eq!(options.replica_set.as_deref(), Some("other"));
        assert!(!options.load_balanced);
    }

    #[test]
    fn other_and_malformed_options_are_errors_with_their_name() {
        for (txt, part) in [
            ("socketTimeoutMS=500", "sockettimeoutms"),
            ("tls=false", "tls"),
            ("ssl=false", "ssl"),
            ("authSource", "authSource"),
            ("authSource=", "authSource"),
            ("replicaSet=%zz", "replicaSet"),
        ] {
            let error = with("mongodb+srv://a.b.c", txt).unwrap_err().to_string();
            assert!(
                error.to_lowercase().contains(&part.to_lowercase()),
                "{txt}: {error}"
            );
        }
    }

    #[test]
    fn invalid_values_are_warnings() {
        let options = with("mongodb+srv://a.b.c", "loadBalanced=perhaps&replicaSet=").unwrap();
        assert!(!options.load_balanced && options.replica_set.is_none());
        assert_eq!(options.warnings().len(), 2);
    }
}
