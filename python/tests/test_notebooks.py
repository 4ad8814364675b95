"""Every notebook runs from its first cell to its last, and every example from its first line to its last."""

import os
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((FOLDER / "notebooks").glob("*.ipynb"))
EXAMPLES = sorted((FOLDER / "examples").glob("*.py"))


def test_there_are_notebooks_and_examples() -> None:
    assert len(NOTEBOOKS) == 5 and len(EXAMPLES) >= 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, captures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for needed in ("numpy", "polars") + (("optuna",) if "optuna" in notebook.name else ()):
        pytest.importorskip(needed)
    monkeypatch.setenv("ORDER9_CAPTURES", os.fspath(captures))
    book = nbformat.read(notebook, as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells), "notebooks are kept without outputs"
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numpy")
    runpy.run_path(os.fspath(example), run_name="__main__")
    assert capsys.readouterr().out
