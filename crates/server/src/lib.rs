//! Sockets, HTTP, configuration, shutdown; joins dialects to the engine; the dragoman binary.
