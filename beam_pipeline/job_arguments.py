"""What a job is asked to do beside what its recipe says."""

from dataclasses import dataclass

from transforms.tokenizers.spec import BackendChoice


@dataclass(frozen=True)
class JobArguments:
    """Arguments of a job.

    Attributes:
      recipe: its file, or the name of a shipped one.
      output: folder for what is built.
      work_dir: where this run makes a folder for its work files; default: below the output.
      offline: replace hub sources by generated documents; a traces job refuses them instead, as
        nothing could honestly stand in for them.
      resume: go on with the work that a killed run left; its pieces stay as they are.
      piece_bytes: how much input makes a piece; as much as its size asks for if not given.
      backend: who encodes.
      elsewhere: workers see no file of this machine.
    """

    recipe: str
    output: str
    work_dir: str | None = None
    offline: bool = False
    resume: bool = False
    piece_bytes: int | None = None
    backend: BackendChoice = "auto"
    elsewhere: bool = False
