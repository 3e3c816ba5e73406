"""One file a command, named as the command; each has `add`, its options, and `run`, what it does."""
