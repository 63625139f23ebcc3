"""Lets `--setup_file` stage this package on Dataflow; all metadata is in pyproject.toml."""

from setuptools import setup

setup()
