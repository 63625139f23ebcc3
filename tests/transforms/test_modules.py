"""Which modules know of Beam, and what those that do may not do."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import beam_pipeline
import transforms

WITHOUT_BEAM = [
    "credentials",
    "documents",
    "errors",
    "kernels",
    "keys",
    "objects",
    "quality",
    "readers",
    "records",
    "storage",
    "tokenizers",
    "work",
]
SOURCES = sorted(
    path
    for package in (transforms, beam_pipeline)
    for path in Path(package.__path__[0]).rglob("*.py")
)


def modules_of(name):
    """The module, and all in it if it is a package."""
    path = Path(transforms.__path__[0]) / name
    inside = [info.name for info in pkgutil.iter_modules([str(path)])] if path.is_dir() else []
    return [f"transforms.{name}", *(f"transforms.{name}.{module}" for module in inside)]


def test_what_computes_does_not_import_beam():
    modules = [module for name in WITHOUT_BEAM for module in modules_of(name)]
    assert len(modules) > 30
    program = (
        f"import importlib, sys\nfor name in {modules}:\n    importlib.import_module(name)\n"
        "    assert not any(loaded.startswith('apache_beam') for loaded in sys.modules), name"
    )
    repository = Path(transforms.__path__[0]).parent
    subprocess.run([sys.executable, "-c", program], check=True, cwd=repository)


def imports_beam(tree):
    return any(
        (isinstance(node, ast.Import) and any(a.name.startswith("apache_beam") for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("apache_beam"))
        for node in tree.body
    )


def annotations_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from (a.annotation for a in node.args.args + node.args.kwonlyargs)
            yield node.returns
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


def test_there_are_modules_to_look_at():
    beams = [path.name for path in SOURCES if imports_beam(ast.parse(path.read_text()))]
    assert {"scan.py", "budget.py", "write.py", "corpus.py"} <= set(beams)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_beam_can_read_the_annotations(path):
    """Beam takes coders from them, and takes a string for Any: keys then have no coder."""
    text = path.read_text()
    tree = ast.parse(text)
    if not imports_beam(tree):
        return
    assert "from __future__ import annotations" not in text
    quoted = [
        node.lineno
        for node in annotations_of(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert quoted == []
