//! Who somebody is: tenants, members and tokens, and the JWTs of an OpenID provider.

pub mod jwt;
