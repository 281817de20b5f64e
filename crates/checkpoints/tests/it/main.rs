//! Proofs of the vault from outside: any tree comes back bit for bit, whatever happened meanwhile.

#![allow(clippy::unwrap_used)]

mod children;
mod comparison;
mod copied;
mod crash;
mod damage;
mod edits;
mod hostile;
mod property;
mod rules;
mod together;
mod tree;
mod unified;
mod world;
