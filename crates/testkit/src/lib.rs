//! Scenarios, transcripts, a WebSocket client and scratch homes for tests.
