"""Broken labs as data: words of the example lab's files to change, and what lint then has to say, all of it and no more.

Not a test: `test_lint` runs it. A case is (file, [(old, new), ...], [a pattern for each finding, ...]).
"""

from __future__ import annotations

BROKEN = {
    # names
    "a name twice": (
        "checks.py",
        [('"unit-floor", "unit_length"', '"unit-rows", "unit_length"')],
        ["2 checks are named 'unit-rows'; rename", "the graded cell 'unit-floor' has no check", "which the lab does not have",
         "the cell 'unit-rows' has 3 points, its check 2", r'check\("unit-floor"\) is written', "the text states 10 = 8"],
    ),
    "a name with capitals": (
        "checks.py",
        [('"unit-predict"', '"Unit_Predict"')],
        ["'Unit_Predict' is no name for a check; use small letters", "the graded cell 'unit-predict' has no check",
         "the check 'Unit_Predict' has no graded cell", r'check\("unit-predict"\) is written', "the text states 10 = 8"],
    ),
    # cells
    "a check without a cell": (
        "checks.py",
        [("    ),\n    reference=", '        Check("unit-more", "unit_length", 2, "more", rows),\n    ),\n    reference=')],
        ["the check 'unit-more' has no graded cell; add one", "none is made for the check 'unit-more'"],
    ),
    "a cell without a check": (
        "notebook.py",
        [('"grade_id": "unit-floor"', '"grade_id": "unit-flor"')],
        ["the graded cell 'unit-flor' has no check; add one", r"'unit-flor' must be check\(\"unit-flor\"\) and no more",
         "the check 'unit-floor' has no graded cell", "the text states 10 = 8"],
    ),
    "a cell that does more": (
        "notebook.py",
        [('check("unit-floor")', 'print("now:")\ncheck("unit-floor")')],
        [r"the graded cell 'unit-floor' must be check\(\"unit-floor\"\) and no more; move the rest"],
    ),
    "a cell that is not locked": (
        "notebook.py",
        [('"grade_id": "unit-floor", "locked": true', '"grade_id": "unit-floor", "locked": false')],
        ["the graded cell 'unit-floor' is not locked, or a solution; set"],
    ),
    "a check that a person grades": (
        "notebook.py",
        [('"grade_id": "written-answer"', '"grade_id": "unit-more"')],
        ["'unit-more' is a check and a cell that a person grades", "the check 'unit-more' has no graded cell",
         "none is made for the check 'unit-more'", "the text states 10 = 8"],
    ),
    "cells in another order": (
        "notebook.py",
        [("unit-rows", "unit-swap"), ("unit-manners", "unit-rows"), ("unit-swap", "unit-manners"),
         ('"unit-manners", "locked": true, "points": 3', '"unit-manners", "locked": true, "points": 2'),
         ('"unit-rows", "locked": true, "points": 2', '"unit-rows", "locked": true, "points": 3')],
        ["the graded cells do not stand in the order of LAB.checks, from 'unit-rows' on; put",
         r'"\*\*The rows\*\* \(3 points\).* states 3 \+ 2 \+ 2 points, the cells after it give 2 \+ 2 \+ 3'],
    ),
    "a check that is called by a wrong name": (
        "notebook.py",
        [("The check only notes what you say.", 'Try `check("unit-predicted")` below.')],
        [r'check\("unit-predicted"\) is written in the cell .*, and no check has that name; correct it'],
    ),
    "a name that nobody is asked to write": (
        "notebook.py",
        [("predicted_first = None\n", ""), ("predicted_first = 3", "my_first = 3")],
        ["'unit-predict' runs predicted_first, which no solution cell defines; add it"],
    ),
    "a name without a reference": (
        "checks.py",
        [(', "predicted_first": 0.6', "")],
        ["'unit-predict' runs predicted_first, and LAB.reference has no such name; add it"],
    ),
    # points
    "a cell and a check that differ": (
        "checks.py",
        [('"unit_length", 3, "each', '"unit_length", 4, "each')],
        ["the cell 'unit-rows' has 3 points, its check 4; make them equal"],
    ),
    "a check for nothing": (
        "checks.py",
        [('"unit_length", 3, "each', '"unit_length", 0, "each')],
        ["'unit-rows' is worth 0 points; give", "the cell 'unit-rows' has 3 points, its check 0"],
    ),
    "a wrong total": (
        "notebook.py",
        [("**Points:** 10, of which 8", "**Points:** 11, of which 9")],
        [r"the text states 11 = 9 \+ 2 points \(machine and person\), the cells give 10 = 8 \+ 2; correct"],
    ),
    "no total": (
        "notebook.py",
        [("**Points:** 10, of which 8 are given by the machine and 2 by a person.", "Good luck.")],
        ['the text does not state the points of the lab; write a line "\\*\\*Points'],
    ),
    "a wrong heading": (
        "notebook.py",
        [("`unit_length` (7 points)", "`unit_length` (6 points)")],
        [r"the heading '2. `unit_length` \(6 points\)' states 6 points, its cells give 7; correct"],
    ),
    "a heading that adds up others": (
        "notebook.py",
        [("`unit_length` (7 points)", "`unit_length` (2 + 3 + 2 points)")],
        [r"the heading '2. `unit_length` \(2 \+ 3 \+ 2 points\)' adds up other points than its cells, 3 \+ 2 \+ 2; correct"],
    ),
    "a heading without points": (
        "notebook.py",
        [("## 3. A written answer (2 points, graded by a person)", "## 3. A written answer")],
        [r"no heading states the points of written-answer; add \"\(N points\)\""],
    ),
    "a wrong label": (
        "notebook.py",
        [("**the floor** (2 points)", "**the floor** (1 point)")],
        [r"states 3 \+ 1 \+ 2 points, the cells after it give 3 \+ 2 \+ 2; correct"],
    ),
    # words
    "a behaviour that is not said": (
        "notebook.py",
        [(" A row of\n#   zeros stays zero; it does not become NaN.", "")],
        ["the text does not say 'a row of zeros' .*write it, or mend the pattern"],
    ),
    "a behaviour that is said in the answer only": (
        "notebook.py",
        [(" A row of\n#   zeros stays zero; it does not become NaN.", ""),
         ("# A row of length `eps`:", "# A row of zeros stays zero. A row of length `eps`:")],
        ["the text does not say 'a row of zeros'"],
    ),
    "a pattern that fits everything": (
        "behaviours.py",
        [('r"A row of\\s+zeros stays zero"', 'r".*"')],
        ["the pattern of 'a row of zeros' fits an empty text too; quote"],
    ),
    "a pattern that is none": (
        "behaviours.py",
        [('r"A row of\\s+zeros stays zero"', 'r"(zeros"')],
        [r"the pattern of 'a row of zeros' is no regular expression \(missing \), .*; mend it"],
    ),
    "no behaviours": (
        "behaviours.py",
        [("BEHAVIOURS: dict[str, str] = {", "BEHAVIOURS: dict[str, str] = {}\nOLD = {")],
        ["BEHAVIOURS is empty; list"],
    ),
    "a default that is not said": (
        "notebook.py",
        [("`unit_length(x, eps=1e-12)` takes", "`unit_length(x, eps)` takes")],
        [r"the text does not state the signature unit_length\(x, eps=1e-12\); it has unit_length\(x, eps\); write it"],
    ),
    "a signature that is not said": (
        "notebook.py",
        [("`unit_length(x, eps=1e-12)` takes", "`unit_length` takes")],
        [r"does not state the signature unit_length\(x, eps=1e-12\); it has none; write it"],
    ),
    "a variable that is not named": (
        "notebook.py",
        [("`predicted_first` is the first", "Predict the first")],
        ["'unit-predict' asks for predicted_first, and the text never names `predicted_first`; say what it is"],
    ),
    # mistakes
    "an id twice": (
        "mistakes.py",
        [('id="unit-eps-added"', 'id="unit-columns"')],
        ["2 have the id 'unit-columns'; a diagnosis must mean one of them"],
    ),
    "a mistake for a check that is not there": (
        "mistakes.py",
        [('check="unit-floor"', 'check="unit-eps"')],
        ["'unit-eps-added' is made for the check 'unit-eps', which the lab does not have; take one of: unit-floor, unit-manners",
         "none is made for the check 'unit-floor'; write one"],
    ),
    "a mistake of another exercise": (
        "mistakes.py",
        [('exercise="unit_length",\n        check="unit-floor"', 'exercise="unit",\n        check="unit-floor"')],
        ["'unit-eps-added' spoils unit, and its check 'unit-floor' grades unit_length; no check of the contract grades",
         "has a source for unit that does not define unit; write it there"],
    ),
    "a mistake for a step of the notebook": (
        "mistakes.py",
        [('exercise="unit_length",\n        check="unit-floor"', 'exercise="predicted_first",\n        check="unit-predict"'),
         ("def unit_length(x, eps=1e-12):\n    length = (x * x).sum(dim=1, keepdim=True).sqrt()\n    return x / (length + eps)",
          "predicted_first = 3")],
        ["'unit-eps-added' is made for 'unit-predict', which is not of the contract; no check",
         "none is made for the check 'unit-floor'"],
    ),
    "a mistake that defines another name": (
        "mistakes.py",
        [("def unit_length(x, eps=1e-12):\n    length = (x * x).sum(dim=0", "def unit(x, eps):\n    length = (x * x).sum(dim=0")],
        ["'unit-columns' has a source for unit_length that does not define unit_length; write it there"],
    ),
    "a mistake that is no Python": (
        "mistakes.py",
        [("x /= length.clamp(min=eps)", "x /= length.clamp(min=eps")],
        ["'unit-in-place' has a source for unit_length that is no Python; mend it"],
    ),
    "a check without a mistake": (
        "mistakes.py",
        [('check="unit-floor"', 'check="unit-rows"')],
        ["none is made for the check 'unit-floor'; write one that only this check catches"],
    ),
    # contract
    "a name that nothing grades": (
        "checks.py",
        [('contract=("unit_length",)', 'contract=("unit_length", "unit_backward")')],
        ["no check grades unit_backward, a name of the contract; write one", "lacks unit_backward; a variant defines"],
    ),
    "a check outside the contract": (
        "checks.py",
        [("contract=False,  # a var", "contract=True,  # a var")],
        ["the check 'unit-predict' grades predicted_first, which is not in LAB.contract; add the name, or say",
         "none is made for the check 'unit-predict'"],
    ),
    # variants
    "a variant that is not whole": (
        "variants.py",
        [('{"unit_length": LOOP}', "{}")],
        ["'loop-over-rows' lacks unit_length; a variant defines every name"],
    ),
    "a variant of another name": (
        "variants.py",
        [('{"unit_length": LOOP}', '{"unit_length": LOOP, "unit": LOOP}')],
        ["'loop-over-rows' has a source for unit, not a name of the contract; take it out", "that does not define unit; write it"],
    ),
    "a variant that only uses its name": (
        "variants.py",
        [("def unit_length(x, eps=1e-12):\n    length = torch", "def norm(x, eps=1e-12):\n    length = torch")],
        ["'vector-norm' has a source for unit_length that does not define unit_length"],
    ),
    "two variants of one id": (
        "variants.py",
        [('"vector-norm"', '"loop-over-rows"')],
        ["2 variants have the id 'loop-over-rows'; rename"],
    ),
    "no variants": (
        "variants.py",
        [("VARIANTS: tuple[Variant, ...] = (", "VARIANTS: tuple[Variant, ...] = ()\nOLD = (")],
        ["there is no variant; write some honest solutions"],
    ),
    # pages
    "a page that is not there": (
        "mistakes.py",
        [('page=FORMULATION + "epsilon"', 'page="book/eps.html#epsilon"')],
        ["'unit-eps-added' links to a page that is not there: book/eps.md does not exist; write that .* one of: .*notation"],
    ),
    "a section that is not there": (
        "mistakes.py",
        [('FORMULATION + "epsilon"', 'FORMULATION + "eps"')],
        ["book/mathematical-formulation.md has no section 'eps'; it has: .*epsilon"],
    ),
    "a page in another form": (
        "mistakes.py",
        [('FORMULATION + "epsilon"', '"https://example.org/epsilon"')],
        ["is not of the form book/NAME.html#SECTION; write it so"],
    ),
    "a link to a section that is not there": (
        "notebook.py",
        [("../../book/mathematical-formulation.md", "../../book/mathematical-formulation.md#eps")],
        ["the link to '../../book/mathematical-formulation.md' names the section 'eps', which is not there; correct it"],
    ),
    "scenarios that cannot be drawn": (
        "checks.py",
        [("draw.tensor(2, 3, loc=2.0)", "draw.tensor(2, -3, loc=2.0)")],
        ["the scenarios of 'unit-floor' cannot be drawn: ValueError.*mend them"],
    ),
    "a link of the text": (
        "notebook.py",
        [("../../book/mathematical-formulation.md", "../book/mathematical-formulation.md")],
        ["the link to '../book/mathematical-formulation.md' leads nowhere from labs/lab90_unit_length/; correct it"],
    ),
    # what keeps a lab from being looked over
    "a lab that does not load": (
        "mistakes.py",
        [("MISTAKES: tuple", "1 / 0\nMISTAKES: tuple")],
        ["do not load: ZeroDivisionError.*Mend"],
    ),
    "behaviours that do not load": (
        "behaviours.py",
        [("BEHAVIOURS: dict", "OTHERS: dict")],
        ["behaviours of lab90.* do not load.*Write"],
    ),
    "behaviours that are a list": (
        "behaviours.py",
        [("BEHAVIOURS: dict[str, str] = {", "BEHAVIOURS = ['x']\nOLD = {")],
        ["BEHAVIOURS must be a dictionary; it is a list"],
    ),
    "variants that do not load": ("variants.py", [("VARIANTS: tuple", "OTHERS: tuple")], ["The variants of lab90.* do not load"]),
    "a lab under another name": (
        "checks.py",
        [('name="lab90_unit_length"', 'name="lab90"')],
        ["LAB is named 'lab90'; give it its folder's"],
    ),
    "cells of one id": (
        "notebook.py",
        [('"grade_id": "unit-floor"', '"grade_id": "unit-rows"')],
        ["Two cells of .* have the id 'unit-rows'; change one"],
    ),
}  # fmt: skip

KEPT = "still holds a line of its solution"
LEAKS = {  # the cell of the released notebook, the line that is added to it, a pattern for the one finding
    "a line of the solution in its cell": ("solve-unit-length", "    return x / length.clamp(min=eps)", KEPT),
    "a short line of the solution": ("solve-prediction", "predicted_first = 3 / (3**2 + 4**2) ** 0.5", KEPT),
    "the solution in another cell": (
        "set-up",
        "length = (x * x).sum(dim=1, keepdim=True).sqrt()  # (N, 1)",
        "gives away a line of the solution in 'solve-unit-length'",
    ),
    "the solution in a sentence of the text": (
        "the first cell",
        "Hint: write `length = (x * x).sum(dim=1, keepdim=True).sqrt()  # (N, 1)` and go on.",
        "gives away a line of the solution in 'solve-unit-length'",
    ),
    "a line of the written answer": (
        "written-answer",
        "the square of the length is then far below `eps` when `eps` is small.",
        KEPT,
    ),
    "a hidden test": ("unit-rows", "### BEGIN HIDDEN TESTS", "'BEGIN HIDDEN TESTS' stands in the cell 'unit-rows'; mend"),
    "a mark": ("solve-unit-length", "    ### END SOLUTION", "'END SOLUTION' stands in the cell 'solve-unit-length'; mend"),
}  # fmt: skip
