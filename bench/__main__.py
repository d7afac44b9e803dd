"""`make bench`: measure the graders on the same submissions, print tables, write the results as JSON and as a page of the docs.

    python -m bench                         all of it, about twelve minutes on two processors
    python -m bench --small                 a few submissions of lab 1, without otter-grader
    python -m bench --labs lab1 ours limit  some parts

The first writes bench/results.json and, from it, docs/benchmarks.md with its figure; the others _build/bench/results.json.

Parts: stock, otter, ours, limit, stages, startup, growth, writer. Ratios come out only where both sides were measured, in this run.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.grading.course import load_lab  # noqa: E402
from bench import figure, ratios, tables  # noqa: E402
from bench.machine import about  # noqa: E402
from bench.meter import measured  # noqa: E402
from bench.page import IMAGE, page  # noqa: E402
from bench.submissions import LABS, SEED, Submission, class_of, kinds  # noqa: E402

SCRATCH = ROOT / "_build" / "bench"
RESULTS, PAGE = ROOT / "bench" / "results.json", ROOT / "docs" / "benchmarks.md"
SOAK = ROOT / "bench" / "soak.json"  # what bench/soak.py wrote in its last whole run
PARTS = ("stock", "otter", "ours", "limit", "stages", "startup", "growth", "writer")


@dataclass(frozen=True)
class Sizes:
    """How many submissions of what; more is more exact and takes longer."""

    few: int = 12  # stock, otter, cold kernels
    trial: int = 1  # of these, to find the better number of threads for stock and otter
    whole: int = 400
    limit: int = 20
    stages: int = 20
    largest: int = 1_000  # class that is really graded to see the growth
    repeats: int = 3  # of what takes a second or two
    writer: int = 160


SMALL = Sizes(few=2, trial=0, whole=6, limit=4, stages=4, largest=10, repeats=1, writer=8)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    given = _parsed(argv)
    sizes = SMALL if given.small else Sizes()
    sizes = Sizes(**{**vars(sizes), **{k: v for k, v in vars(given).items() if k in vars(sizes) and v is not None}})
    parts = tuple(part for part in given.parts or PARTS if not (given.small and part == "otter" and not given.parts))
    whole = set(parts) == set(PARTS) and set(given.labs) == set(LABS) and not given.small
    scratch = given.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()
    results: dict[str, Any] = {
        "about": "Written by `make bench`. All in one run on one machine; see bench/__main__.py.",
        **about(),
        "sizes": vars(sizes),
        "parts": list(parts),
        "seed": SEED,
        "labs": {},
    }
    for word in given.labs:
        results["labs"][word] = lab_of(word, parts, sizes, scratch)
        _write(results, scratch / "unfinished.json")
    if "startup" in parts:
        results["startup"] = _part("startup", ROOT, scratch, _class("lab1", sizes.few), sizes.repeats)
    if "growth" in parts:
        needed = {"stages", "startup"} - set(parts)
        if needed or "lab1" not in given.labs:
            sys.exit(
                "the part growth replays what the parts stages (of lab1) and startup have measured; name them, too"
            )
        stages, startup = results["labs"]["lab1"]["stages"], results["startup"]
        known = results["labs"]["lab1"].get("ours", {}).get("large")
        results["growth"] = _part("larger", ROOT, scratch, LABS["lab1"], sizes.largest, stages, startup, known)
    if "writer" in parts:
        results["writer"] = writer(sizes)
    results |= ratios.keys(results["labs"])
    results["goals"] = ratios.goals(results)
    results["seconds"] = time.monotonic() - began_s
    out = given.out.resolve() if given.out else RESULTS if whole else scratch / "results.json"
    _write(results, out)
    show(results)
    print(f"\n{out} was written; it took {results['seconds']:.0f} s.")
    if out == RESULTS:
        write_page(results)
    return 0


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the speed of grading.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which parts (all): {', '.join(PARTS)}")
    parser.add_argument("--labs", action="append", choices=LABS, help="which labs (both)")
    parser.add_argument(
        "--small", action="store_true", help="few submissions of lab 1, no otter-grader: does it run at all?"
    )
    parser.add_argument("--out", type=Path, help="where the results go")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="where the courses that are graded lie")
    for name, usual in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"({usual})")
    given = parser.parse_args(argv)
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    given.labs = given.labs or (["lab1"] if given.small else list(LABS))
    return given


def _class(word: str, students: int) -> tuple[Submission, ...]:
    return class_of(ROOT, LABS[word], students)


def _part(name: str, *words: Any) -> Any:
    print(f"bench: {name} ...", file=sys.stderr, flush=True)
    return importlib.import_module(f"bench.{name}").measure(*words)


def lab_of(word: str, parts: Sequence[str], sizes: Sizes, scratch: Path) -> dict[str, Any]:
    """Measure one lab."""
    name, few, whole = LABS[word], _class(word, sizes.few), _class(word, sizes.whole)
    points = sum(check.points for check in load_lab(ROOT, name).checks)
    found: dict[str, Any] = {"name": name, "points": points, "kinds": kinds(whole), "kinds_of_few": kinds(few)}
    if "stock" in parts:
        found["stock"] = _part("stock", ROOT, scratch, name, few, sizes.trial)
    found |= (
        _otter(name, few, sizes, scratch)
        if "otter" in parts
        else {"otter": None, "otter_reason": "left out of this run"}
    )
    if "ours" in parts:
        large = _class(word, sizes.largest) if word == "lab1" and sizes.largest > sizes.whole else ()
        found["ours"] = _part("ours", ROOT, scratch, name, whole, sizes.few, large)
    if "stock" in found and "ours" in found:
        print(f"bench: stock {name} once more ...", file=sys.stderr, flush=True)
        found["stock"] = importlib.import_module("bench.stock").measure_again(ROOT, scratch, name, few, found["stock"])
    if "limit" in parts or "stages" in parts:
        print(f"bench: limit {name} ...", file=sys.stderr, flush=True)
        told = measured((sys.executable, "-m", "bench.limit", name, str(sizes.limit)), where=ROOT)
        found["limit"] = json.loads(told.text.strip().splitlines()[-1])
    if "stages" in parts:
        found["stages"] = _part("stages", ROOT, scratch, name, whole[: sizes.stages], found["limit"])
    return found


def _otter(name: str, few: Sequence[Submission], sizes: Sizes, scratch: Path) -> dict[str, Any]:
    from bench.otter_grader import NoOtter

    try:
        return {"otter": _part("otter_grader", ROOT, scratch, name, few, sizes.trial), "otter_reason": ""}
    except NoOtter as reason:
        return {"otter": None, "otter_reason": str(reason)}


def writer(sizes: Sizes) -> dict[str, Any] | None:
    """Return how fast recording alone is, as `bench.writer` measures it in a process of its own."""
    if importlib.util.find_spec("bench.writer") is None:
        return None
    print("bench: writer ...", file=sys.stderr, flush=True)
    told = measured((sys.executable, "-m", "bench.writer", str(sizes.writer)), where=ROOT)
    found: dict[str, Any] = json.loads(told.text.strip().splitlines()[-1])
    return found


def _write(results: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def show(results: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"\n{tables.goals(results)}")
    for word, lab in results["labs"].items():
        if lab.get("stock") or lab.get("otter") or lab.get("ours"):
            print(f"\n{tables.TITLES[word]} ({lab['name']})\n\n{tables.rates(lab)}")
    if any(lab.get("limit") and lab.get("ours") for lab in results["labs"].values()):
        print(f"\n{tables.limit(results['labs'])}")
    if any(lab.get("stages") for lab in results["labs"].values()):
        print(f"\n{tables.stages(results['labs'])}")
    if results.get("growth"):
        print(f"\n{tables.growth(results)}\n\n{tables.simulated(results)}")
    if results.get("startup"):
        print(f"\n{tables.startup(results)}")
    if results.get("writer"):
        print(f"\n{tables.writer(results)}")


def write_page(results: dict[str, Any]) -> None:
    """Write the page of the docs and its figure."""
    soak = json.loads(SOAK.read_text(encoding="utf-8")) if SOAK.exists() else None
    PAGE.write_text(page(results, soak), encoding="utf-8")
    figure.draw(results, PAGE.parent / IMAGE)


if __name__ == "__main__":
    sys.exit(main())
