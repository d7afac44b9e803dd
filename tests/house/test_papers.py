"""The papers of the house: links lead somewhere, the citation is valid, every decision is listed."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAPERS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(paper: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", paper.read_text(encoding="utf-8"))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not (paper.parent / target).exists()] == []


@pytest.mark.parametrize("paper", [*PAPERS, ROOT / "Makefile"], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_make_target_that_is_mentioned_exists(paper: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = paper.read_text(encoding="utf-8")
    mentioned = re.findall(r"`make ([a-z-]+)|^make ([a-z-]+)", text, re.MULTILINE)
    assert {a or b for a, b in mentioned} <= targets


def test_the_readme_begins_with_what_it_is_a_picture_and_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:30]
    for needed in ("A course on", "![", "make demo", "make test"):
        assert any(line.startswith(needed) for line in first_screen)


def test_the_citation_is_valid_and_names_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert all("name" in author or "family-names" in author for author in citation["authors"])
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert str(citation["version"]) == version
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_decision_is_listed_once_and_has_one_paragraph() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    decisions = sorted(folder.glob("0*.md"))
    assert [p.name[:4] for p in decisions] == [f"{n:04d}" for n in range(1, len(decisions) + 1)]
    for decision in decisions:
        title, paragraph = decision.read_text().strip().split("\n\n")
        assert title == f"# {decision.name[:4]} {title[7:]}"
        assert index.count(f"[{title[2:]}]({decision.name})") == 1
        assert len(paragraph.split()) > 60


def test_the_shell_scripts_parse_and_stop_at_errors() -> None:
    for script in [*sorted((ROOT / "scripts").glob("*.sh")), ROOT / ".ci" / "run"]:
        assert "\nset -euo pipefail\n" in script.read_text()
        assert script.stat().st_mode & 0o111, f"{script.name} is not executable"
        subprocess.run(["bash", "-n", str(script)], check=True)
