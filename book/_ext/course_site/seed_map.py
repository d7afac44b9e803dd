"""Writes docs/seed-map.md: where each section of the three texts that the course grew out of is answered.

    make seed-map

A page says so itself, by a label in front of its heading: seed-TEXT-SLUG. A section without one is an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .notebooks import headings

TARGET = Path("docs/seed-map.md")
# text, its name, and its sections: slug and heading
TEXTS: dict[str, tuple[str, dict[str, str]]] = {
    "theory": (
        "The theory document",
        {
            "introduction": "Introduction & Motivation",
            "core-concepts": "Core Concepts & Theory",
            "batch-normalization": "Batch Normalization",
            "layer-normalization": "Layer Normalization",
            "internal-covariate-shift": "Internal Covariate Shift",
            "mathematical-formulation": "Mathematical Formulation",
            "advanced-theory": "Advanced Theory & Extensions",
            "batch-renormalization": "Batch Renormalization",
            "weight-normalization": "Weight Normalization",
            "instance-normalization": "Instance Normalization",
            "computational-considerations": "Computational Considerations",
            "practical-implementation": "Practical Implementation Strategies",
            "batch-size-dependence": "Batch Size Dependence",
            "test-time-behavior": "Test Time Behavior",
            "layer-placement": "Layer Placement",
            "benchmarks": "Benchmark Datasets & Evaluation",
            "key-challenges": "Key Challenges & Limitations",
            "batch-size-sensitivity": "Batch Size Sensitivity",
            "train-test-mismatch": "Train-Test Mismatch",
            "computational-overhead": "Computational Overhead",
            "hyperparameter-tuning": "Hyperparameter Tuning",
            "applications": "Real-World Applications & Case Studies",
            "integration": "Integration with Other Methods",
            "summary": "Summary & Key Takeaways",
            "practical-labs": "Appendix: Practical Labs",
            "lab-1": "Lab 1: Batch Normalization",
            "lab-2": "Lab 2: Layer Normalization",
            "lab-3": "Lab 3: BN vs LN Stability",
            "lab-4": "Lab 4: Normalization Effects",
        },
    ),
    "implementations": (
        "The implementations file",
        {
            "batch-normalization-1d": "Batch normalization, one-dimensional",
            "batch-normalization-2d": "Batch normalization, two-dimensional",
            "layer-normalization": "Layer normalization",
            "comparison": "Comparison and analysis",
            "usage-example-1": "Usage, first example",
            "usage-example-2": "Usage, second example",
            "usage-example-3": "Usage, third example",
        },
    ),
    "five-cases": (
        "The GroupNorm page",
        {
            "cases": "The five cases: batch norm, two layer norms, two group norms",
            "input-layouts": "Which layout each layer takes",
            "statistics-shapes": "The shapes of the statistics",
            "affine-off": "Scale and bias switched off",
            "train-and-eval": "Training mode against eval mode",
            "expected-output": "The expected output",
        },
    ),
}
HEAD = """# Where the first texts have gone

The course grew out of three texts. Each of their sections is answered on a page of the book; this table says where. It is
made by `make seed-map` from the labels that stand in front of the headings; a test fails when one is missing.
"""


def sections() -> dict[str, str]:
    """Return the heading of every section of the three texts, by its label."""
    return {f"seed-{text}-{slug}": title for text, (_, slugs) in TEXTS.items() for slug, title in slugs.items()}


def places(root: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Return where each label stands: page, its title, heading. A label that stands twice has two places."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for path in sorted((root / "book").glob("*.md")):
        text = path.read_text("utf8")
        title, labels = headings(text)
        for label in (label for label in labels if label.startswith("seed-")):
            found.setdefault(label, []).extend([(path.stem, title, labels[label])] * text.count(f"({label})=\n"))
    return found


def problems(root: Path) -> list[str]:
    """Return what is wrong with the labels, in sentences."""
    found, known = places(root), sections()
    lost = [f"{label} stands nowhere." for label in known if label not in found]
    twice = [f"{label} stands {len(there)} times." for label, there in found.items() if len(there) > 1]
    unknown = [f"{label} in {found[label][0][0]}.md is no section of a text." for label in found if label not in known]
    return lost + twice + unknown


def seed_map(root: Path) -> str:
    """Return the text of the table."""
    found = places(root)
    lines = [HEAD]
    for text, (name, slugs) in TEXTS.items():
        lines += [f"## {name}\n", "| section | page | heading |", "| --- | --- | --- |"]
        for slug, section in slugs.items():
            page, title, heading = found[f"seed-{text}-{slug}"][0]
            lines.append(f"| {section} | [{title}](../book/{page}.md) | {heading} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Write the table, or say which labels are wrong."""
    root = Path.cwd()
    wrong = problems(root)
    if wrong:
        sys.exit("\n".join(wrong))
    (root / TARGET).write_text(seed_map(root), "utf8")
    print(f"{len(sections())} sections written to {TARGET}")
