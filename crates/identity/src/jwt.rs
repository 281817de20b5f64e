//! Tokens that somebody else signs (JWT), and the keys they are checked with (JWKS).
