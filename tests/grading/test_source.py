"""A file is cut so that what fails spoils nothing else, and no code is lost; the source is searched for torch's own layers."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.source import chunks, mentions

BROKEN = "def broken(x:\n    return x\n"


def cut(text: str) -> list[str]:
    """The pieces."""
    return [chunk.source for chunk in chunks(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("\n\n# only a comment\n", []),
        ("x = 1", ["x = 1"]),
        ("x = 1\n\n\ny = 2\n", ["x = 1\n\n\n", "y = 2\n"]),
        ("# first\n\nimport a\nx = 1\n", ["import a\n", "x = 1\n"]),
        ("from __future__ import annotations\nx = 1\n", ["from __future__ import annotations\n", "x = 1\n"]),
        ("def f():\n    pass\n# of g\ndef g():\n    pass\n", ["def f():\n    pass\n# of g\n", "def g():\n    pass\n"]),
        ("@a\n@b(\n  1\n)\ndef f():\n    pass\nx = 1\n", ["@a\n@b(\n  1\n)\ndef f():\n    pass\n", "x = 1\n"]),
        ("@a\nclass A:\n    pass\n", ["@a\nclass A:\n    pass\n"]),
        ("async def f():\n    pass\nx = 1\n", ["async def f():\n    pass\n", "x = 1\n"]),
        ("a = 1; b = 2\nc = 3\n", ["a = 1; b = 2\n", "c = 3\n"]),
        ("a = [1,\n2]; b = 3\nc = 4\n", ["a = [1,\n2]; b = 3\n", "c = 4\n"]),
        ("if x:\n    a = 1\nelse:\n    a = 2\nb = 3\n", ["if x:\n    a = 1\nelse:\n    a = 2\n", "b = 3\n"]),
        ('"""Two\nlines"""\nx = 1\n', ['"""Two\nlines"""\n', "x = 1\n"]),
        ('S = """\ndef f():\n"""\nx = 1\n', ['S = """\ndef f():\n"""\n', "x = 1\n"]),
        ("x = 1\r\ny = 2\r\n", ["x = 1\r\n", "y = 2\r\n"]),
        ("x = 1\ry = 2\r", ["x = 1\r", "y = 2\r"]),
        ("def f():\n\treturn 1\nx = 1\n", ["def f():\n\treturn 1\n", "x = 1\n"]),
        ("x = 1\n\x0c\ndef f():\n    pass\n", ["x = 1\n\x0c\n", "def f():\n    pass\n"]),
        ("s = '\x0c'\ny = 2\nz = 3\n", ["s = '\x0c'\n", "y = 2\n", "z = 3\n"]),
        ("s = '\u2028\x1c\x85'\ny = 2\n", ["s = '\u2028\x1c\x85'\n", "y = 2\n"]),
    ],
)
def test_a_file_is_cut_at_its_statements(text: str, pieces: list[str]) -> None:
    """Each with its decorators, what stands behind it, and its own line ends."""
    assert cut(text) == pieces


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n", "class A:\n    x = 1\n"),
        ("", "def g():\n    return 1\n"),
        ("x = 1\n", ""),
        ("@decorated\ndef f():\n    pass\n", "@decorated\nclass B:\n    pass\n"),
        ("EPS: float = 1e-5\n", "a, b = 1, 2\n"),
        ("a.b = 1\n", "a[0] = 1\n"),
        ('S = """\nimport this\ndef f():\n"""\n', "assert S\n"),
        ("x = [\n1,\nf(\n2),\n]\n", "for i in x:\n    pass\nelse:\n    pass\n"),
        ("try:\n    x = 1\nexcept ValueError:\n    pass\nfinally:\n    y = 1\n", "print(1)\n"),
        ("with a as b:\r\n    pass\r\n", "raise ValueError\r\n"),
        ("async def f():\n    pass\n", "await x\n"),
        ("s = '\x0c'\n", "t = '\x0c'\n"),
    ],
)
def test_a_syntax_error_spoils_only_its_own_piece(before: str, after: str) -> None:
    """The statements before and after it stand alone and whole."""
    pieces = cut(before + BROKEN + after)
    assert BROKEN in pieces
    for text in (before, after):
        for piece in cut(text):
            assert piece in pieces


def test_two_syntax_errors_spoil_two_pieces() -> None:
    """Nothing in between is drawn in."""
    text = BROKEN + "def good():\n    return 1\n" + BROKEN + "y = 1\n"
    assert cut(text) == [BROKEN, "def good():\n    return 1\n", BROKEN, "y = 1\n"]


def test_pieces_know_their_line_and_name() -> None:
    """For the note that says what did not run."""
    text = "# comment\nimport a\n\n@d\nclass A:\n    pass\ndef f():\n    pass\nx = 1\n"
    assert [(c.line, c.title) for c in chunks(text)] == [(2, "import a"), (4, "class A"), (7, "def f"), (9, "x = 1")]
    broken = [(c.line, c.title) for c in chunks(text + BROKEN)]
    assert broken[-1] == (10, "def broken(x:")


@pytest.mark.parametrize(
    "text",
    ["x = " + "+".join(["1"] * n) + "\ny = 1\n" for n in (200, 900, 5000)]
    + ["x = " + "(" * 500, "\0", "x = 1\0\n", "def f(\n" * 3000, "    indented = 1\n", "λ = 1\ndef é(): pass\n"],
    ids=["deep", "deeper", "deepest", "parentheses", "a null", "a null behind", "3000 errors", "indented", "Greek"],
)
def test_odd_files_are_cut_too(text: str) -> None:
    """Whatever it is, it becomes pieces that hold all of it."""
    assert "".join(cut(text)).strip() == text.strip()


STATEMENTS = st.sampled_from(
    [
        "x = 1", "import a", "def f():\n    return 1", "@d\ndef g(): pass", "class A:\n    def m(self):\n        pass", "# comment",
        "", "    ", 'S = """\ndef h():\n"""', "y = (\n1,\n2)", "a = 1; b = 2", "if a:\n    b = 1\nelse:\n    b = 2", "\x0c",
        "print('x')",
    ]
)  # fmt: skip


@given(st.lists(STATEMENTS, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=300)
def test_joined_pieces_are_the_file(statements: list[str], end: str, broken: bool) -> None:
    """From the first statement on, character by character; every piece of a good file runs alone."""
    text = end.join(statement.replace("\n", end) for statement in statements) + end
    if broken:
        text += BROKEN
    pieces = cut(text)
    whole = "".join(pieces)
    assert text.endswith(whole)
    lost = text[: len(text) - len(whole)]
    assert all(line.strip() == "" or line.lstrip().startswith("#") for line in lost.splitlines())
    for piece in pieces:
        if BROKEN not in piece:
            ast.parse(piece)


# --- mentions --------------------------------------------------------------------------------------------------------------


def mentioned(source: str, *exercises: str) -> dict[str, tuple[str, ...]]:
    """Where the definitions of some exercises mention what they may not call."""
    return mentions([textwrap.dedent(source)], exercises or ("BatchNorm1d", "batch_norm_backward"))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("return nn.BatchNorm1d(3)(x)", "BatchNorm1d"),
        ("return torch.nn.functional.batch_norm(x, a, b)", "batch_norm"),
        ("return F.layer_norm(x, (3,))", "layer_norm"),
        ("return torch.native_batch_norm(x)", "native_batch_norm"),
        ("return torch.ops.aten._native_batch_norm_legit(x)", "_native_batch_norm_legit"),
        ("return nn.GroupNorm(1, 2)(x)", "GroupNorm"),
        ("return nn.LazyBatchNorm1d()(x)", "LazyBatchNorm1d"),
        ("return RMSNorm(3)(x)", "RMSNorm"),
        ("return nn.\uff22atchNorm1d(3)(x)", "BatchNorm1d"),  # a wide letter, which Python reads as a plain one
    ],
)
def test_a_mention_of_torchs_own_layers_is_evidence(line: str, name: str) -> None:
    """With the line, for a person to judge."""
    found = mentioned(f"class BatchNorm1d:\n    def forward(self, x):\n        {line}\n")
    assert found == {"BatchNorm1d": (f"the source mentions {name}: `{line}`",)}


@pytest.mark.parametrize(
    ("line", "name"),
    [("torch.autograd.grad(y, x)", "grad"), ("y.backward(g)", "backward"), ("torch.func.vjp(f, x)", "vjp"),
     ("x.requires_grad_()", "requires_grad_")],
)  # fmt: skip
def test_a_mention_of_autograd_is_evidence_in_a_function(line: str, name: str) -> None:
    """A module's backward pass is torch's; a function that computes a gradient has none."""
    function = mentioned(f"def batch_norm_backward(g, x):\n    {line}\n")
    assert set(function) == {"batch_norm_backward"}
    assert line in function["batch_norm_backward"][0]
    assert mentioned(f"class BatchNorm1d:\n    def forward(self, x):\n        {line}\n") == {}


@pytest.mark.parametrize(
    "source",
    [
        "class BatchNorm1d:\n    '''As nn.BatchNorm1d does.'''\n    # nn.BatchNorm1d\n    eps = 1\n",
        "class BatchNorm1d:\n    weight_normalized = batch_normalized = 1\n",
        "class Other:\n    layer = nn.BatchNorm1d(3)\n",
        "layer = nn.BatchNorm1d(3)\n",
        "def broken(:\n",
    ],
)
def test_other_text_is_no_evidence(source: str) -> None:
    """Words, similar names, experiments outside the exercise."""
    assert mentioned(source) == {}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('"""The backward pass of nn.BatchNorm1d."""', False),
        ('"""The backward pass\n    of nn.BatchNorm1d.\n    """', False),
        ('"""The backward pass."""; y.backward()', True),
        ('"""The backward pass."""; y = 1; y.backward(); """\n    """', True),
        ('f"""The {y.backward()} pass."""', True),
        ('"""The pass.""" + y.backward()', True),
        ('"""\u00e9 the pass."""; y.backward()', True),
    ],
)
def test_a_docstring_hides_nothing_beside_it(body: str, found: bool) -> None:
    """Only whole lines of it are passed over."""
    source = f"def batch_norm_backward(y):\n    {body}\n"
    ast.parse(source)
    assert bool(mentions([source], {"batch_norm_backward"})) is found


def test_ones_own_layer_is_no_evidence() -> None:
    """BatchNorm2d may be built on the student's BatchNorm1d."""
    source = "class BatchNorm2d(BatchNorm1d):\n    pass\n"
    assert mentioned(source, "BatchNorm1d", "BatchNorm2d") == {}


def test_torchs_own_class_as_a_base_is_evidence() -> None:
    """Only the student's own one, by its plain name, is none."""
    assert mentioned("class BatchNorm1d(nn.BatchNorm1d):\n    pass\n", "BatchNorm1d", "BatchNorm2d") != {}
    assert mentioned("class BatchNorm2d(LayerNorm):\n    pass\n", "BatchNorm1d", "BatchNorm2d") != {}


def test_the_last_definition_counts() -> None:
    """Also where nothing in it could be a mention, and in whichever cell it stands."""
    torchs, own = "def f(x):\n    return nn.GroupNorm(1, 2)(x)\n", "def f(x):\n    return x\n"
    assert mentions([torchs, own], {"f"}) == {}
    assert set(mentions([own, torchs], {"f"})) == {"f"}
