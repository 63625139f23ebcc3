"""Stand-ins for Google Cloud on loopback, so that gs:// and Dataflow are tested without it."""
