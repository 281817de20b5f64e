//! Stories of the cowork dialect.
