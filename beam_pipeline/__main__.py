"""`python -m beam_pipeline` is `corpusbeam`."""

import sys

from beam_pipeline.cli import main

sys.exit(main())
