"""corpusbeam beside its peers: inputs, contenders, floors and the table."""
