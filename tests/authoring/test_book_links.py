"""A page's section is found in the book's source as the website will have it: by label or by heading, never in code."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.authoring.pages import listed, page_fault, sections

PAGE = """\
# Epsilon, and `why`

(under-the-root)=
## Under the root

```text
(not-a-label)=
# not a heading
```

````{note}
```python
# no heading
```
(not-here)=
````

### What is $\\varepsilon$ for? ###
"""


def test_labels_and_headings_are_sections() -> None:
    """What stands in a fenced block is neither."""
    assert list(sections(PAGE)) == ["epsilon-and-why", "under-the-root", "under-the-root", "what-is-varepsilon-for"]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Two pages, of which the website has one."""
    (tmp_path / "book").mkdir()
    for name in ("epsilon", "draft"):
        (tmp_path / "book" / f"{name}.md").write_text(PAGE)
    (tmp_path / "_toc.yml").write_text(
        "root: book/index\nparts:\n  - chapters:\n      - file: book/epsilon.md # here\n"
    )
    return tmp_path


def test_pages_are_listed_with_or_without_suffix(course: Path) -> None:
    """As the tool that reads _toc.yml allows; a course without one lists nothing."""
    assert listed(course) == {"book/index", "book/epsilon"}
    (course / "_toc.yml").unlink()
    assert listed(course) == frozenset()


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("book/epsilon.html#under-the-root", None),
        ("book/epsilon.html#epsilon-and-why", None),
        (
            "book/epsilon.html#not-a-label",
            "has no section 'not-a-label'; it has: epsilon-and-why, under-the-root, what",
        ),
        ("book/epsilon.html#not-here", "has no section"),
        ("book/draft.html#under-the-root", "is not listed in _toc.yml"),
        (
            "book/other.html#under-the-root",
            "book/other.md does not exist; write that page or link to one of: draft, epsilon",
        ),
        ("book/epsilon.html", "is not of the form"),
        ("epsilon.html#under-the-root", "is not of the form"),
        ("book/../secret.html#x", "is not of the form"),
    ],
)
def test_a_link_is_sound_or_its_fault_is_named(course: Path, page: str, fault: str | None) -> None:
    """With what there is instead."""
    found = page_fault(course, page)
    assert found is None if fault is None else fault in str(found)
