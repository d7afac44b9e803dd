"""Promises about the book's experiments: each record follows from its values, and pages quote only records."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "book/experiments"
NAMES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
PLACE = re.compile(r"\{\{ ([a-z_]+)\.([a-z0-9_]+) \}\}")


def load(name: str) -> ModuleType:
    """Return the module of an experiment."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


def read(name: str) -> dict:
    """Return the committed record of an experiment."""
    return json.loads((FOLDER / "results" / f"{name}.json").read_text("utf8"))


def quoted() -> set[tuple[str, str]]:
    """Return (experiment, key) of every place in the pages."""
    return {place for page in (ROOT / "book").glob("*.md") for place in PLACE.findall(page.read_text("utf8"))}


def test_every_experiment_has_a_record_and_every_record_an_experiment():
    """Nothing is quoted that cannot be measured again."""
    assert sorted(path.stem for path in (FOLDER / "results").glob("*.json")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_record_follows_from_its_values(name):
    """Numbers and tables in the pages are what the code makes of the values; settings and seeds are the code's own."""
    module, record = load(name), read(name)
    assert record["numbers"] == module.numbers(record["values"])
    assert record["tables"] == module.tables(record["values"])
    assert record["settings"] == json.loads(json.dumps(module.SETTINGS))
    assert record["seeds"] == list(module.SEEDS)
    assert (record["question"], record["expected"]) == (module.QUESTION, module.EXPECTED)
    assert {"python", "torch", "numpy", "scikit-learn"} <= set(record["versions"])


@pytest.mark.parametrize("name", NAMES)
def test_a_mean_is_over_five_seeds_at_least(name):
    """Where a spread is printed there are five seeds or more; an experiment without chance has one."""
    record = read(name)
    texts = [*record["numbers"].values(), *record["tables"].values()]
    assert len(record["seeds"]) >= 5 or not any("±" in text for text in texts)


@pytest.mark.parametrize("name", NAMES)
def test_expectation_stands_in_the_book(name):
    """A reader sees what was expected before the run, and some of what came out."""
    keys = {key for experiment, key in quoted() if experiment == name}
    assert "expected" in keys
    assert keys - {"expected", "question"}


def test_every_place_names_a_number_that_exists():
    """A page quotes only keys of records."""
    known = {(name, key) for name in NAMES for part in ("numbers", "tables") for key in read(name)[part]}
    known |= {(name, key) for name in NAMES for key in ("question", "expected")}
    assert quoted() <= known


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_experiment_runs(name):
    """The code that made the record still runs, in small, and its values have the record's shape."""
    module = load(name)
    values = json.loads(json.dumps(module.run(module.SMALL, list(module.SEEDS)[:2]), allow_nan=False))
    assert set(module.numbers(values)) == set(read(name)["numbers"])
    assert set(module.tables(values)) == set(read(name)["tables"])
