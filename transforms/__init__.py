"""The steps of corpusbeam: Beam wiring over kernels, readers and tokenizers that import no Beam."""
