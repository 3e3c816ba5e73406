"""What tests share: histories, oracles, generators, servers, a browser; nothing here is a test."""
