"""Why: from a refuted trace to a minimal core, an argument in words and the anomaly's name."""
