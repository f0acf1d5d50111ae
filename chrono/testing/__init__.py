"""Public conformance suites and test worlds."""
