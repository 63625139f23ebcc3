"""Reasoning traces: from rows to thoughts, and from thoughts to windows; no Beam."""
