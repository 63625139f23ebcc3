"""The end of a job, in the order that readers rely on: manifests, then `_SUCCESS`."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from beam_pipeline.manifest import MANIFEST, SUCCESS
from transforms import storage
from transforms.work import WorkFolder


def finish(manifests: Mapping[str, dict[str, Any]], output: str, work: WorkFolder) -> Iterator[str]:
    """Writes the manifests and `_SUCCESS`, and clears the work folder.

    Args:
      manifests: by path below the output.

    Yields:
      the paths of the manifests.
    """
    # The manifest of the whole comes last: a reader that finds it finds the others too.
    for path in sorted(manifests, key=lambda path: path == MANIFEST):
        target = storage.join(output, path)
        storage.write_whole(target, orjson.dumps(manifests[path], option=orjson.OPT_INDENT_2))
        yield target
    storage.write_whole(storage.join(output, SUCCESS), b"")
    storage.remove_tree(work.root)
