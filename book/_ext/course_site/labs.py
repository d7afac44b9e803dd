"""Says on the page of a lab which cells are graded, for how many points, and where the student writes."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def mark_graded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Say above each graded cell of a lab what it is worth, and above each solution cell that it is the student's."""
    for cell in doctree.findall(nodes.container):
        about = cell.get("cell_metadata", {}).get("nbgrader")
        if not about:
            continue
        if about.get("grade"):
            points = about["points"]
            kind, text = "graded", f"Graded: {about['grade_id']}, {points:g} point{'s' * (points != 1)}"
        elif about.get("solution"):
            kind, text = "solution", "Your code goes here"
        else:
            continue
        cell["classes"].append(f"lab-{kind}")
        cell.insert(0, nodes.paragraph("", text, classes=["lab-mark"]))
    for paragraph in doctree.findall(nodes.paragraph):
        if paragraph.astext() == "YOUR ANSWER HERE":
            paragraph["classes"].append("lab-answer")
