"""chrono.record: what an agent did at each boundary, recorded where it happened and replayed without a model."""
