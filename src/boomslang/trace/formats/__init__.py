"""Readers of the formats in which others' histories come. Each is a module with `recognise` and `read`."""
