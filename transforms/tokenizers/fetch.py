"""Reads a tokenizer.json from wherever a recipe or a job keeps it."""

from pathlib import Path

from transforms import credentials, hub_token, storage
from transforms.errors import TokenizerError

_GIVE_TOKEN = "set HF_TOKEN in the environment, or token_secret in the recipe"


def read(location: str) -> bytes:
    """The bytes of a file, local or with a scheme such as `gs://`.

    Raises:
      TokenizerError: it cannot be read; names it.
    """
    try:
        return storage.read_bytes(location)
    except FileNotFoundError as error:
        raise TokenizerError(
            f"there is no tokenizer file {location}: check its path, or make one with `corpusbeam "
            "train-tokenizer`"
        ) from error
    except OSError as error:
        raise TokenizerError(
            f"tokenizer file {location} cannot be read ({error.strerror or error}): "
            f"check its path and your access to it"
        ) from error


def download(repo: str, token_secret: str | None = None) -> bytes:
    """The tokenizer.json of a Hugging Face repo, through the local cache of the hub's client.

    Args:
      token_secret: names the secret that holds the token; without one it is left to
        huggingface_hub, which takes it from the environment.

    Raises:
      CloudError: the secret cannot be read.
      TokenizerError: no such repo or file, no access to it, or no connection; names the repo.
    """
    # Only the launching machine needs the hub's client.
    from huggingface_hub import errors, hf_hub_download

    token = hub_token.fetch(token_secret) if token_secret else None
    try:
        # The client tells of each attempt that fails.
        with credentials.quiet("huggingface_hub"):
            return Path(hf_hub_download(repo, "tokenizer.json", token=token)).read_bytes()
    except errors.GatedRepoError as error:
        mend = f"is gated: accept its terms at https://huggingface.co/{repo} and {_GIVE_TOKEN}"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        mend = f"does not exist or is private: check the name, and {_GIVE_TOKEN}, if it is yours"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except errors.LocalEntryNotFoundError as error:
        mend = "cannot be reached and is not in the local cache: check the connection"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except errors.EntryNotFoundError as error:
        mend = "has no tokenizer.json: convert its tokenizer and name the file instead"
        raise TokenizerError(f"tokenizer repo {repo} {mend}") from error
    except OSError as error:
        reason = hub_token.public(error, token_secret) or type(error).__name__
        raise TokenizerError(f"tokenizer repo {repo} cannot be downloaded: {reason}") from error
