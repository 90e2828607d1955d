//! Users that another system authenticates: `MONGODB-OIDC`, `MONGODB-AWS` and `GSSAPI`.

use super::TestServerBuilder;
use crate::auth::aws::AwsUser;
use crate::auth::gssapi::GssapiAcceptor;
use crate::auth::oidc::OidcIdentityProvider;
use std::sync::Arc;

impl TestServerBuilder {
    /// Requires authentication, and accepts this access token of `MONGODB-OIDC` for a user of the
    /// database `$external`. The token is compared as it is. The user may run every command. May be
    /// called for several tokens; [`TestServer::revoke_oidc_token`] and
    /// [`TestServer::add_oidc_token`] change them at run time.
    ///
    /// [`TestServer::revoke_oidc_token`]: crate::TestServer::revoke_oidc_token
    /// [`TestServer::add_oidc_token`]: crate::TestServer::add_oidc_token
    pub fn oidc_token(mut self, token: impl Into<String>, user: impl Into<String>) -> Self {
        self.access.oidc_tokens.push((token.into(), user.into()));
        self
    }

    /// Requires authentication, and names this identity provider to clients of `MONGODB-OIDC` that
    /// ask for one. May be called for several providers; a client gets the first for its user.
    pub fn oidc_identity_provider(mut self, provider: OidcIdentityProvider) -> Self {
        self.access.oidc_providers.push(provider);
        self
    }

    /// Requires authentication, and creates a user of the database `$external` for `MONGODB-AWS`,
    /// whose name is the access key. The signature is verified by the server. The user may run every
    /// command.
    pub fn aws_user(
        mut self,
        access_key_id: impl Into<String>,
        secret_access_key: impl Into<String>,
        session_token: Option<&str>,
    ) -> Self {
        self.access.aws.push(AwsUser {
            access_key_id: access_key_id.into(),
            secret_access_key: secret_access_key.into(),
            session_token: session_token.map(str::to_owned),
        });
        self
    }

    /// The host of the Security Token Service that clients of `MONGODB-AWS` sign requests for
    /// (`awsSTSHost`). Default: `sts.amazonaws.com`.
    pub fn aws_sts_host(mut self, host: impl Into<String>) -> Self {
        self.access.aws_sts_host = Some(host.into());
        self
    }

    /// Requires authentication, and accepts these principals by `GSSAPI` as users of the database
    /// `$external`, e.g. `ada@EXAMPLE.COM`. The acceptor has the keys of the service, and the Kerberos
    /// library. The users may run every command.
    pub fn gssapi(
        mut self,
        acceptor: Arc<dyn GssapiAcceptor>,
        principals: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.access.gssapi = Some(acceptor);
        self.access
            .gssapi_users
            .extend(principals.into_iter().map(Into::into));
        self
    }
}
