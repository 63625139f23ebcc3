"""Encoders that turn batches of text into token ids; no Beam."""
