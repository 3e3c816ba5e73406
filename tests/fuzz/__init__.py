"""Programs that look for what no test has: `make fuzz`."""
