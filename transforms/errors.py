"""Errors that a user can mend; the command line shows their message and no traceback."""


class CorpusError(Exception):
    """A mistake in a recipe, an input or an output folder.

    The message is one line: what is wrong, where (file, source, row), and what to do about it.
    """


class RecipeError(CorpusError):
    """The recipe does not describe a corpus that can be built."""


class SourceError(CorpusError):
    """A source cannot be read as the recipe says: nothing matches, no such column, no access."""


class DamagedFileError(CorpusError):
    """An input file is truncated, fails its checksum or is of no known format."""


class CloudError(CorpusError):
    """Google Cloud cannot be used: no bucket or secret, permission, credentials or answer."""


class TokenizerError(CorpusError):
    """The tokenizer cannot serve this recipe."""


class OutputError(CorpusError):
    """The output folder cannot take, or does not hold, this corpus."""


class InternalError(Exception):
    """A promise of the job is broken: a ledger that does not balance, an id out of range."""
