"""Numeric kernels over UTF-8 buffers and arrays; no Beam, no input or output."""
