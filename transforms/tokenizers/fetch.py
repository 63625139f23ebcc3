"""Reads a tokenizer.json from wherever a recipe or a job keeps it."""

from pathlib import Path

from transforms import storage
from transforms.errors import TokenizerError


def read(location: str) -> bytes:
    """The bytes of a file, local or with a scheme such as `gs://`.

    Raises:
      TokenizerError: it cannot be read; names it.
    """
    try:
        return storage.read_bytes(location)
    except OSError as error:
        raise TokenizerError(
            f"tokenizer file {location} cannot be read ({error.strerror or error}): "
            f"check its path and your access to it"
        ) from error


def download(repo: str) -> bytes:
    """The tokenizer.json of a Hugging Face repo, through the local cache of the hub's client.

    Raises:
      TokenizerError: no such repo or file, no access to it, or no connection; names the repo.
    """
    # Only the launching machine needs the hub's client.
    from huggingface_hub import errors, hf_hub_download

    try:
        return Path(hf_hub_download(repo, "tokenizer.json")).read_bytes()
    except errors.GatedRepoError as error:
        mend = "is gated: accept its terms on huggingface.co and set HF_TOKEN"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        mend = "does not exist or is private: check the name, or set HF_TOKEN"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except errors.LocalEntryNotFoundError as error:
        mend = "cannot be reached and is not in the local cache: check the connection"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except errors.EntryNotFoundError as error:
        mend = "has no tokenizer.json: convert its tokenizer and name the file instead"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except OSError as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TokenizerError(f"tokenizer repo {repo} cannot be downloaded: {reason}") from error
