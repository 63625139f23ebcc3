"""The report of traces: the same frame, other contents."""
