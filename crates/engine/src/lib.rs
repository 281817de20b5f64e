//! Runs threads: sessions, turns, asks; the only owner of state.
