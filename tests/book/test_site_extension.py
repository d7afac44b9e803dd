"""Promises of the website's extension that need no site: dates, descriptions, buttons, figures, results, stamps."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import date
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

pytest.importorskip("sphinx", reason="the book extra is not installed: pip install '.[book]'")

from course_site import breaks, cards, figures, head, icons, results, source_digest, theme


def git(folder: Path, *words: str, day: str = "2024-02-03") -> None:
    """Run git in a folder, on a day."""
    when = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
    who = {f"GIT_{role}_{what}": "reader@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, env={**os.environ, **when, **who}
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with two pages, one of which was changed later."""
    folder = tmp_path / "course"
    (folder / "book").mkdir(parents=True)
    git(folder, "init", "-q")
    for day, names in {"2024-02-03": ("old", "new"), "2025-06-07": ("new",)}.items():
        for name in names:
            (folder / f"book/{name}.md").write_text(day)
        git(folder, "add", ".", day=day)
        git(folder, "commit", "-qm", day, day=day)
    return folder


def test_a_page_changed_on_the_day_of_its_last_commit(repository):
    """Not on the day of the last commit of all."""
    assert head.days_of_change(repository) == {"book/old.md": date(2024, 2, 3), "book/new.md": date(2025, 6, 7)}


def test_days_are_those_of_the_course_in_a_larger_repository(repository):
    """Paths count from the course's folder."""
    assert set(head.days_of_change(repository / "book")) == {"old.md", "new.md"}


def test_a_shallow_clone_has_no_days(repository, tmp_path):
    """Git would name the day of the clone's only commit for every page."""
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    assert head.days_of_change(tmp_path / "shallow") == {}


def test_outside_a_repository_there_are_no_days(tmp_path, monkeypatch):
    """Nor without git; neither is an error."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert head.days_of_change(tmp_path) == {}
    monkeypatch.setenv("PATH", "")
    assert head.days_of_change(tmp_path / "other") == {}


def test_days_do_not_make_a_site_stale(repository):
    """A commit changes the days and no page, so the stamp of a fresh site stays."""
    before = source_digest(repository)
    git(repository, "commit", "-q", "--allow-empty", "-m", "later", day="2026-01-01")
    assert source_digest(repository) == before
    (repository / "book/old.md").write_text("changed")
    assert source_digest(repository) != before


def test_notebooks_do_not_make_a_site_stale(repository):
    """They are made from the pages; a page is not made from them."""
    before = source_digest(repository)
    (repository / "book/notebooks").mkdir()
    (repository / "book/notebooks/old.ipynb").write_text("{}")
    assert source_digest(repository) == before


def test_description_is_the_first_paragraph_without_formulas():
    """Boxes and formulas do not describe a page; a long text ends at a word."""
    text = "Title\n=====\n\n.. note:: not this\n\nWith :math:`x^2` in it.\n\nPlain *words* say it.\n\nSection\n-------\n\nLater.\n"
    assert head.description(publish_doctree(text)) == "Plain words say it."
    long = head.description(publish_doctree("Title\n=====\n\n" + "word " * 100 + "\n\nSection\n-------\n\nLater.\n"))
    assert len(long) <= head.LONGEST_DESCRIPTION
    assert long.endswith("word ...")
    assert head.description(publish_doctree("")) == ""


def test_head_tags_are_escaped_and_leave_out_what_is_unknown():
    """A title with quotes stays in its tag; without a day there is no tag of one."""
    tags = head.head_tags(title='A "b" & c', site="S", text="t", url="", image="i.png", changed=None)
    assert '<meta property="og:title" content="A &quot;b&quot; &amp; c" />' in tags
    assert "og:url" not in tags
    assert "modified_time" not in tags
    dated = head.head_tags(title="A", site="S", text="t", url="u", image="i.png", changed=date(2024, 2, 3))
    assert 'content="2024-02-03"' in dated


def test_card_has_the_size_that_it_says(tmp_path):
    """1200 by 630 pixels, also for a long title."""
    draw_to = tmp_path / "cards/one.png"
    cards.draw_card("Real-World Applications & Case Studies and more", "Course", draw_to)
    assert draw_to.read_bytes()[16:24] == b"".join(size.to_bytes(4) for size in cards.CARD_SIZE)


LAUNCH = {"label": "launch-buttons", "buttons": [{"url": "https://colab/blob/main/book/a.md"}]}
SOURCE = {"label": "source-buttons", "buttons": [{"label": "source-edit-button"}, {"label": "source-issues-button"}]}


def test_a_chapter_is_launched_as_its_notebook():
    """Its other buttons stay."""
    launch, source = theme.mend_buttons([LAUNCH, SOURCE], "book/a")
    assert launch["buttons"] == [{"url": "https://colab/blob/main/book/notebooks/a.ipynb"}]
    assert source == SOURCE


def test_a_lab_offers_no_edit_of_its_source():
    """The source holds the solutions."""
    lab = {"label": "launch-buttons", "buttons": [{"url": "https://colab/blob/main/labs/a/a.ipynb"}]}
    launch, source = theme.mend_buttons([lab, SOURCE], "labs/a/a")
    assert launch == lab
    assert [button["label"] for button in source["buttons"]] == ["source-issues-button"]


def test_scripts_are_loaded_once_and_only_where_they_are_used():
    """The theme lists some twice, and one for a feature that is off; a component's goes with its tag."""
    scripts = ["a.js", "norm-explorer.js", "a.js", "sphinx-thebe.js", "running-statistics.js"]
    assert theme.mend_scripts(scripts, "") == ["a.js"]
    assert theme.mend_scripts(scripts, '<norm-explorer layer="batch">') == ["a.js", "norm-explorer.js"]


def test_the_search_index_is_loaded_by_the_search_alone():
    """It is as large as some chapters."""
    page = '<script src="../searchindex.js?v=1"></script>\n<script src="../_static/doctools.js"></script>'
    assert theme.mend_html(page) == '<script src="../_static/doctools.js"></script>'
    assert theme.mend_html(page, is_search=True) == page


def test_excerpts_of_a_search_are_made_plain_once():
    """The page of the search may be mended again by the next build."""
    page = '<script src="_static/searchtools.js"></script>\n'
    mended = theme.mend_html(page, is_search=True)
    assert mended == page.rstrip() + theme.PLAIN_EXCERPTS + "\n"
    assert theme.mend_html(mended, is_search=True) == mended


def test_icons_that_no_page_shows_are_left_out():
    """A rule with several names stays when one is shown; the small fonts take the place of the large ones."""
    style = '.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-bug:before{content:"\\f188"}.fa-lg{font-size:2em}'
    font = (
        'src:url(../vendor/f/fa-solid-900.woff2) format("woff2"),url(../vendor/f/fa-solid-900.ttf) format("truetype")'
    )
    kept = '.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}.fa-lg{font-size:2em}'
    assert icons.trimmed(style + font, {"fa-navicon"}) == kept + 'src:url(../vendor/f/fa-solid-900.woff) format("woff")'


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The set has :math:`m`, not :math:`N` values.", ["m,"]),
        ("At (:math:`m = 2`) and (see :math:`m`).", ["(m = 2)", "m)."]),
        (":math:`a`, :math:`b`, :math:`c`, and more", ["a,", "b,", "c,"]),
        ("Nothing :math:`m` touches", []),
    ],
)
def test_a_formula_stays_with_the_marks_that_touch_it(text, pieces):
    """Commas behind and brackets around; the sentence itself is the same."""
    doctree = publish_doctree(text)
    said = doctree.astext()
    breaks.keep_marks(None, doctree)
    assert doctree.astext() == said
    assert [p.astext() for p in doctree.findall(nodes.inline) if "unbroken" in p["classes"]] == pieces


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Return a folder with one figure that reads one record."""
    for folder in ("book/figures", "book/experiments/results", "_build/figures"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "book/figures/_style.py").write_text("")
    (tmp_path / "book/figures/curve.py").write_text('record("speed")')
    record = {"question": "How fast?", "expected": "Fast.", "numbers": {"mean": "1.5"}, "tables": {"all": "| a |"}}
    (tmp_path / "book/experiments/results/speed.json").write_text(json.dumps(record))
    return tmp_path


@pytest.mark.parametrize("newer", ["figures/_style.py", "figures/curve.py", "experiments/results/speed.json"])
def test_a_figure_is_drawn_again_when_what_it_is_made_from_is_newer(course, newer):
    """Its script, a shared script, or the record that it names."""
    picture = course / "_build/figures/curve.svg"
    assert figures.stale_figures(course) == ["curve"]
    picture.write_text("")
    late = picture.stat().st_mtime + 10
    os.utime(picture, (late, late))
    assert figures.stale_figures(course) == []
    os.utime(course / "book" / newer, (late + 10, late + 10))
    assert figures.stale_figures(course) == ["curve"]


def test_results_are_filled_in_and_missing_ones_named(course):
    """A place without a value stays as it is, and the sentence says what there is or what to run."""
    wrong: list[str] = []
    text = "{{ speed.mean }} {{ speed.all }} {{ speed.expected }} {{ speed.none }} {{ depth.mean }} {{ not one }}"
    filled, read = results.filled(course, text, wrong.append)
    assert filled == "1.5 | a | Fast. {{ speed.none }} {{ depth.mean }} {{ not one }}"
    assert read == {course / "book/experiments/results/speed.json"}
    assert "it has mean, all, question, expected" in wrong[0]
    assert "run: python book/experiments depth" in wrong[1]
