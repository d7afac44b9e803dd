"""Write what a check found as HTML for a notebook: one block without scripts and without requests, in the light and in the dark.

Every word is escaped; nothing is told by a colour alone. Its colours are its own, since it may stand on any ground: they follow
the notebook's theme where that is known (JupyterLab, VS Code, Colab, the book), else the system's.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from autograder.practice.progress import Progress

if TYPE_CHECKING:
    from autograder.practice.view import Diagnosis, Row, View

MOST_ROWS = 8  # that have a line of their own
OPEN_LINES = 14  # rows and lines of code together up to which the code is shown unfolded
MARKS = {"passed": ("✓", "passed"), "wrong": ("✗", "not yet"), "not reached": ("–", "not reached")}

LIGHT = (
    "--paper:#fdfdfc;--ink:#1d2329;--quiet:#5a646e;--line:#d0d5da;--panel:#f3f4f5;"
    "--good:#176b3a;--bad:#a3261b;--link:#0b57a4;color-scheme:light"
)
DARK = (
    "--paper:#15181b;--ink:#e4e7ea;--quiet:#a2acb6;--line:#3a4149;--panel:#1f2429;"
    "--good:#7fd6a0;--bad:#ff9c90;--link:#8ec5ff;color-scheme:dark"
)
# How the places that show notebooks say that they are dark, and that they are light.
DARK_HOSTS = (
    "[data-jp-theme-light=false]",
    ".vscode-dark",
    ".vscode-high-contrast",
    "[theme=dark]",
    "[data-theme=dark]",
)
LIGHT_HOSTS = ("[data-jp-theme-light=true]", ".vscode-light", "[theme=light]", "[data-theme=light]")
STYLE = (
    f".nc-check{{{LIGHT}}}"
    f"@media(prefers-color-scheme:dark){{.nc-check{{{DARK}}}}}"
    f"{','.join(f'{host} .nc-check' for host in LIGHT_HOSTS)}{{{LIGHT}}}"
    f"{','.join(f'{host} .nc-check' for host in DARK_HOSTS)}{{{DARK}}}"
    """
.nc-check{box-sizing:border-box;max-width:54rem;margin:.2rem 0;padding:.5rem .75rem;background:var(--paper);color:var(--ink);
border:1px solid var(--line);border-left:.3rem solid var(--bad);border-radius:.3rem;overflow-wrap:anywhere;
font:var(--jp-content-font-size1,.9rem)/1.5 var(--jp-content-font-family,system-ui,sans-serif)}
.nc-check.nc-fine{border-left-color:var(--good)}
.nc-check p,.nc-check ul{margin:.25rem 0 0;padding:0}
.nc-check ul{list-style:none}
.nc-check li{display:flex;gap:.6rem;margin:0;padding:.1rem 0}
.nc-check li>span:first-child{flex:0 0 5.2rem}
.nc-check li>span:last-child{flex:1 1 0;min-width:0}
.nc-check .nc-good{color:var(--good);font-weight:600}.nc-check .nc-bad{color:var(--bad);font-weight:600}
.nc-check .nc-quiet{color:var(--quiet)}
.nc-check a{color:var(--link);text-decoration:underline}
.nc-check code,.nc-check pre{font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.92em;
color:inherit;background:none}
.nc-check pre{margin:.25rem 0 0;padding:.4rem .6rem;max-height:16em;overflow:auto;background:var(--panel);
border:1px solid var(--line);border-radius:.3rem;white-space:pre;overflow-wrap:normal}
.nc-check summary{cursor:pointer;color:var(--link)}
.nc-check summary:focus-visible,.nc-check a:focus-visible,
.nc-check pre:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.nc-check details{margin:.25rem 0 0}.nc-check details details{margin-left:.8rem}
.nc-check .nc-bar{flex:0 0 8rem;height:.5rem;background:var(--panel);border:1px solid var(--quiet);
border-radius:.3rem;overflow:hidden}
.nc-check .nc-bar div{height:100%;background:var(--good)}
.nc-check .nc-foot{display:flex;flex-wrap:wrap;align-items:center;gap:.2rem .7rem;margin-top:.45rem}
@media(max-width:480px){.nc-check li{flex-wrap:wrap;gap:0 .6rem}.nc-check li>span:last-child{flex:1 1 100%}}
@media(forced-colors:active){.nc-check .nc-bar div{background:CanvasText}}
"""
).replace("\n", "")


def html_of(view: View) -> str:
    """Return the block."""
    fine = view.state != "not yet"
    mark = "✓" if fine else "✗"
    head = (
        f'<p><span class="{"nc-good" if fine else "nc-bad"}">{mark} {escape(view.state)}</span> '
        f"<strong>{_text(view.title)}</strong> "
        f'<span class="nc-quiet"><code>{_text(view.name)}</code>{", " if view.summary else ""}{_text(view.summary)}</span></p>'
    )
    return "".join(
        [
            f"<style>{STYLE}</style>",
            f'<div class="nc-check{" nc-fine" if fine else ""}" role="group" aria-label="{_text(view.headline)}">',
            head,
            _rows(view.rows),
            *(_diagnosis(found, number) for number, found in enumerate(view.diagnoses)),
            f"<p>{_text(view.advice)}</p>" if view.advice and not view.diagnoses else "",
            _code(view.code, min(len(view.rows), MOST_ROWS)),
            "" if view.progress is None else _progress(view.progress),
            "</div>",
        ]
    )


def _text(text: str) -> str:
    from autograder.practice.view import clean

    return escape(clean(text))


def _rows(rows: tuple[Row, ...]) -> str:
    if not rows:
        return ""
    shown = "".join(_row(row) for row in rows[:MOST_ROWS])
    return f"<ul>{shown}{''.join(_rest(rows[MOST_ROWS:]))}</ul>"


def _row(row: Row) -> str:
    mark, word = MARKS[row.state]
    tone = {"passed": "nc-good", "wrong": "nc-bad"}.get(row.state, "nc-quiet")
    told = f"<code>{_text(row.subject)}</code>"
    if row.line:
        told = f"<code>{_text(row.line)}</code>"
        told += f' <span class="nc-quiet">({_text(row.where)})</span>' if row.where else ""
    return f'<li><span class="{tone}">{mark} {word}</span><span>{told}</span></li>'


def _rest(rows: tuple[Row, ...]) -> Iterator[str]:
    for state, (mark, word) in MARKS.items():
        subjects = [f"<code>{_text(row.subject)}</code>" for row in rows if row.state == state]
        if subjects:
            yield f'<li><span class="nc-quiet">{mark} {word}</span><span>{", ".join(subjects)}</span></li>'


def _diagnosis(found: Diagnosis, number: int) -> str:
    link = f'<a href="{_text(found.url)}" target="_blank" rel="noopener">{_text(found.section)}</a>'
    folded = f"<p>The book, {link}.</p>"
    for title, words in reversed((*found.hints, ("Where the book explains it", ""))):
        folded = (
            f"<details><summary>{_text(title)}</summary>{f'<p>{_text(words)}</p>' if words else ''}{folded}</details>"
        )
    return f"<p><strong>{'And like' if number else 'This looks like'}:</strong> {_text(found.title)}. Read on: {link}.</p>{folded}"


def _code(code: str, rows: int) -> str:
    if not code:
        return ""
    lines = code.count("\n") + 1
    unfolded = " open" if lines + rows <= OPEN_LINES else ""
    summary = f"<summary>The smallest call that shows it ({lines} lines)</summary>"
    return f'<details{unfolded}>{summary}<pre tabindex="0">{_text(code)}</pre></details>'


def _progress(progress: Progress) -> str:
    if not progress.points:
        return ""
    share = min(100.0, 100.0 * progress.passed / progress.points)
    return (
        f'<div class="nc-foot"><div class="nc-bar" role="progressbar" aria-label="Points of {_text(progress.lab)}" '
        f'aria-valuemin="0" aria-valuemax="{progress.points:g}" aria-valuenow="{progress.passed:g}">'
        f'<div style="width:{share:.0f}%"></div></div><span class="nc-quiet">{_text(progress.sentence)}</span></div>'
    )
