"""Promises of the components' files and of the pages that hold them; no browser is needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

pytest.importorskip("sphinx", reason="the book extra is not installed: pip install '.[book]'")

from course_site.components import TAG, filled
from course_site.explorer_fallback import EXPLORER
from course_site.running_fallback import RUNNING

ROOT = Path(__file__).parents[2]
ATTRIBUTES = {"norm-explorer": EXPLORER, "running-statistics": RUNNING}


@pytest.mark.parametrize("tag", ATTRIBUTES)
def test_script_is_small_whole_and_readable(tag):
    """Below 15 kB as written by hand, with nothing fetched, imported or evaluated."""
    script = (ROOT / f"book/_static/{tag}.js").read_text("utf8")
    assert len(script.encode()) < 15_000
    assert not re.search(r"https?:|\bimport\b|\bfetch\(|\beval\(|new Function|XMLHttpRequest", script)
    assert max(map(len, script.splitlines())) <= 132
    comments = len(re.findall(r"/\*|//", script))
    assert comments > 8


@pytest.mark.parametrize("tag", ATTRIBUTES)
def test_attributes_are_told_in_the_file_and_in_the_docs(tag):
    """The comment at the head says what the component is and is not, and names each attribute; so does the docs page."""
    head = (ROOT / f"book/_static/{tag}.js").read_text("utf8").split("*/")[0]
    assert head.startswith(f"/* <{tag}>: ")
    assert " * Is: " in head
    assert " * Is not: " in head
    section = (ROOT / "docs/book-components.md").read_text("utf8").split(f"## `<{tag}>`")[1].split("\n## ")[0]
    for attribute in ATTRIBUTES[tag]:
        assert re.search(rf'\b{attribute}="', head)
        assert re.search(rf"^\|.*`{attribute}`", section, re.MULTILINE)


def test_scripts_are_loaded_by_every_page():
    """The site's configuration names both, deferred."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["sphinx"]["config"]
    assert [[f"{tag}.js", {"defer": "defer"}] for tag in ATTRIBUTES] == config["html_js_files"]


def test_every_tag_of_the_book_is_filled():
    """Each tag stands alone on its line in a raw block, has only known attributes, and gets its picture and table."""
    complaints: list[str] = []
    held: dict[str, set[str]] = {tag: set() for tag in ATTRIBUTES}
    for page in sorted((ROOT / "book").glob("*.md")):
        text = page.read_text("utf8")
        tags = re.findall(r"<(norm-explorer|running-statistics)\b", text)
        blocks = re.findall(r"^```\{raw\} html\n(<[^`]*)\n```$", text, re.MULTILINE)
        assert len(tags) == sum(bool(TAG.match(block)) for block in blocks), page.name
        assert filled(text, complaints.append).count("</figure>\n<table") == len(tags), page.name
        for tag in tags:
            held[tag].add(page.stem)
    assert complaints == []
    theory = {"mathematical-formulation", "core-concepts", "key-challenges", "advanced-theory"}
    assert theory <= held["norm-explorer"]
    assert {"mathematical-formulation", "key-challenges"} <= held["running-statistics"]


@pytest.mark.parametrize(
    ("tag", "why"),
    [
        ('<norm-explorer layers="batch"></norm-explorer>', "has no attribute layers; it has shape, layer, groups"),
        ('<norm-explorer layer="weight"></norm-explorer>', "the layers are batch, layer, token, instance, group, rms"),
        ('<norm-explorer groups="3"></norm-explorer>', "does not divide 4 channels"),
        ('<norm-explorer shape="2,4"></norm-explorer>', "give N,C,L or N,C,H,W"),
        ('<norm-explorer shape="9,9,9"></norm-explorer>', "at most 96 elements"),
        ('<norm-explorer chosen="0,4,0"></norm-explorer>', "is no index of a tensor of shape"),
        ('<norm-explorer values="1,2,3"></norm-explorer>', "got 3 values for 24 elements"),
        ('<norm-explorer shape="2,x,3"></norm-explorer>', "is not a list of numbers"),
        ('<running-statistics momentum="1.5"></running-statistics>', "a number from 0 to 1, or None"),
        ('<running-statistics batch-size="1"></running-statistics>', "batch-size 2 to 64"),
    ],
)
def test_a_wrong_attribute_is_told(tag, why):
    """The build hears what was wrong and what is allowed, and the tag stays as it was."""
    complaints: list[str] = []
    assert filled(tag, complaints.append) == tag
    assert len(complaints) == 1
    assert why in complaints[0]
