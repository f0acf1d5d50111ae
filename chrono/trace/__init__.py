"""The shared entities of recording: Trace, Span, Envelope, their payloads, ids and headers. Who records is `record`."""
