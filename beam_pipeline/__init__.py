"""The jobs of corpusbeam: recipes, options, commands, and the reader of finished shards."""
