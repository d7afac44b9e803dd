"""What a check shows: short in any case, escaped, the same in words on a page and in a terminal."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from some_views import FAILED, FOUND, PAGE, PASSED, ROWS, SECOND

from autograder.practice.progress import Progress
from autograder.practice.view import MOST_LINES, Diagnosis, Row, View, section_of, url_of


class Tags(HTMLParser):
    """The tags, the attributes and the words of a page; it must be well formed."""

    VOID = ("br", "hr", "img", "input", "meta", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words, self.open = "", []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += "" if self.open[-1] == "style" else data


def test_a_failed_check_says_everything_in_both_forms() -> None:
    """The state, both values, the count, the code, the mistake, the page of the book, the points."""
    text, page = str(FAILED), Tags(FAILED._repr_html_())
    for words in (
        "not yet", "a title", "c-one", "1 of 2 scenarios agree", "y[0] should be 1; it is 2", "one call", "x.grad", "m.a",
        "print(y)", "The variance is unbiased", "Lab 1: 7 of 78 points pass here", "1 for predictions",
    ):  # fmt: skip
        assert words in text, words
        assert words in page.words, words
    assert FOUND.url in text
    assert ("a", "href", FOUND.url) in page.attributes
    assert "advice" not in text + page.words


def test_without_a_diagnosis_there_is_advice() -> None:
    """Where to look, by the kind of difference."""
    plain = View("c", "t", "not yet", "0 of 1", ROWS[:1], "x", (), "Print the shapes.")
    assert "Print the shapes." in str(plain)
    assert "Print the shapes." in Tags(plain._repr_html_()).words


def test_two_mistakes_are_both_told() -> None:
    """The one to mend first in front, each with its page."""
    both = View("c", "t", "not yet", "0 of 1", ROWS[:1], "x", (FOUND, SECOND))
    for words in (str(both), Tags(both._repr_html_()).words):
        assert re.search(r"This looks like: The variance.*And like: The bias", words, re.DOTALL)


def test_state_is_told_in_words_and_not_by_a_colour_alone() -> None:
    """Marks and words, for those who see no colours or hear the page."""
    failed, passed = Tags(FAILED._repr_html_()), Tags(PASSED._repr_html_())
    assert "✗ not yet" in failed.words
    assert "✓ passed" in failed.words
    assert "– not reached" in failed.words
    assert "✓ passed" in passed.words
    assert "✗" not in passed.words


def test_the_points_are_a_progress_bar_for_a_screen_reader() -> None:
    """With its least, its most, its value and a name; and the same in words beside it."""
    found = {
        key: value for tag, key, value in Tags(FAILED._repr_html_()).attributes if key.startswith(("role", "aria"))
    }
    assert found["role"] == "progressbar"
    assert (found["aria-valuemin"], found["aria-valuenow"], found["aria-valuemax"]) == ("0", "7", "78")
    assert found["aria-label"] == "Points of Lab 1"


def test_hints_are_folded_into_one_another() -> None:
    """A click for each: how to think, what it does, where to read."""
    page = FAILED._repr_html_()
    order = [page.index(f"<summary>{words}</summary>") for words in ("Think", "See", "Where the book explains it")]
    assert order == sorted(order)
    assert "</details></details></details>" in page
    assert "<details open><summary>Think" not in page


def test_a_page_has_no_script_and_asks_for_nothing() -> None:
    """No tag that loads, no handler, no address but the book's."""
    page = Tags(FAILED._repr_html_())
    assert set(page.names) <= {
        "style",
        "div",
        "p",
        "span",
        "strong",
        "code",
        "ul",
        "li",
        "a",
        "details",
        "summary",
        "pre",
    }
    assert not [key for _, key, _ in page.attributes if key.startswith("on") or key == "src"]
    assert [value for _, key, value in page.attributes if key == "href"] == [FOUND.url] * 2
    assert "url(" not in FAILED._repr_html_()
    assert "@import" not in FAILED._repr_html_()


NASTY = st.sampled_from(
    [
        "<script>alert(1)</script>",
        "</div></details>",
        '"><img src=x onerror=alert(1)>',
        "\x1b[31mred\x07",
        "\u202egnp.exe",
        "a\n\nb" * 40,
        "a word " * 200,
        "x" * 5000,
        "",
    ]
) | st.text(max_size=20)
FOUND_ANYTHING = st.builds(
    Diagnosis, NASTY, st.just(url_of(PAGE)), NASTY, st.lists(st.tuples(NASTY, NASTY), max_size=2).map(tuple)
)
VIEWS = st.builds(
    View,
    NASTY,
    NASTY,
    st.sampled_from(["passed", "noted", "not yet"]),
    NASTY,
    st.lists(st.builds(Row, NASTY, st.sampled_from(["passed", "wrong", "not reached"]), NASTY, NASTY), max_size=12).map(
        tuple
    ),
    st.lists(NASTY, max_size=12).map("\n".join),
    st.lists(FOUND_ANYTHING, max_size=2).map(tuple),
    NASTY,
    st.none() | st.builds(Progress, NASTY, st.integers(0, 99), st.integers(0, 9), st.integers(0, 99)),
    st.integers(-1, 5),
)


@settings(max_examples=50, deadline=None)
@given(VIEWS)
def test_whatever_a_student_writes_stays_short_and_harmless(view: View) -> None:
    """At most 24 lines of text without control characters; a page with our own tags and attributes only."""
    text = str(view)
    assert text.count("\n") < MOST_LINES
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    page = Tags(view._repr_html_())
    assert set(page.names) <= {
        "style",
        "div",
        "p",
        "span",
        "strong",
        "code",
        "ul",
        "li",
        "a",
        "details",
        "summary",
        "pre",
    }
    assert {key for _, key, _ in page.attributes} <= {
        *("class", "role", "aria-label", "aria-valuemin", "aria-valuemax", "aria-valuenow", "style", "href", "target"),
        *("rel", "open", "tabindex"),
    }


def test_a_page_shows_no_more_than_a_screen_unfolded() -> None:
    """Rows, hints and code that do not fit are folded or on one line."""
    rows = tuple(
        Row(f"m.{n}", "wrong" if n % 2 else "passed", f"m.{n} should be 1" if n % 2 else "") for n in range(40)
    )
    long = View(
        "c", "t", "not yet", "0 of 1", rows, "\n".join(["x"] * 22), (FOUND, SECOND), "", Progress("Lab 1", 1, 0, 78)
    )
    page = long._repr_html_()
    assert page.count("<li>") <= 10
    assert "<details open>" not in page


@pytest.mark.parametrize(
    ("site", "url"),
    [
        ("", "https://github.com/normalization-course/normalization-course/blob/main/book/mathematical-formulation.md#bn-forward"),
        ("https://example.org/course/", "https://example.org/course/book/mathematical-formulation.html#bn-forward"),
        ("https://example.org/course", "https://example.org/course/book/mathematical-formulation.html#bn-forward"),
        ("javascript:alert(1)//", "https://github.com/normalization-course/normalization-course/blob/main/book/mathematical-formulation.md#bn-forward"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_courses_website_or_to_the_page_in_the_repository(
    site: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is the one that the feedback pages use."""
    monkeypatch.setenv("COURSE_URL", site)
    assert url_of(PAGE) == url


def test_a_section_is_named_in_words() -> None:
    assert section_of(PAGE) == "mathematical formulation, bn forward"
    assert section_of("book/notation.html") == "notation"
