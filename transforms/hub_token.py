"""The token for a gated repository on the hub, fetched by the name of a secret where it is needed.

The name travels; the token stays in the memory of the process that asked for it.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from transforms import credentials
from transforms.errors import CloudError

if TYPE_CHECKING:
    from google.cloud.secretmanager import SecretManagerServiceClient

_SECRET = re.compile(r"hf_\w+|\?\S+")


@lru_cache
def fetch(secret: str) -> str:
    """The token that a version of a secret in Google's Secret Manager holds.

    Args:
      secret: `projects/PROJECT/secrets/NAME/versions/VERSION`.

    Raises:
      CloudError: no such secret or version, no permission, no credentials, or no answer.
    """
    credentials.require()
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError

    try:
        # At the level DEBUG this client logs what it receives.
        with credentials.quiet("google.cloud.secretmanager_v1"):
            held = _client().access_secret_version(name=secret).payload.data
    except exceptions.NotFound as error:
        raise CloudError(
            f"token_secret: there is no {secret}: check its name, and that it has this version"
        ) from error
    except (exceptions.PermissionDenied, exceptions.Forbidden) as error:
        raise CloudError(
            f"token_secret: no permission to read {secret}: give the account that runs the job the "
            "role Secret Manager Secret Accessor"
        ) from error
    except (exceptions.Unauthenticated, exceptions.Unauthorized, GoogleAuthError) as error:
        raise CloudError(
            f"token_secret: {secret} cannot be read, as the credentials were not accepted: "
            f"{credentials.SIGN_IN}"
        ) from error
    except exceptions.GoogleAPIError as error:
        reason = str(getattr(error, "message", error)).partition("\n")[0]
        raise CloudError(f"token_secret: {secret} cannot be read now: {reason}") from error
    token = held.decode(errors="replace").strip()
    if not token:
        raise CloudError(f"token_secret: {secret} is empty: add a version that holds the token")
    return token


def public(error: Exception, secret: str | None) -> str:
    """The first line of an error, without tokens and signed addresses.

    Args:
      secret: names the token that was in use, where one was fetched.
    """
    reason = _SECRET.sub("…", str(error).strip().partition("\n")[0])
    return (reason.replace(fetch(secret), "…") if secret else reason)[:300]


def _client() -> "SecretManagerServiceClient":
    from google.cloud.secretmanager import SecretManagerServiceClient

    return SecretManagerServiceClient(transport="rest")
