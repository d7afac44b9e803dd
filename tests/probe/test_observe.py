"""Whatever stands in a student's notebook becomes data, and nothing that it does on being looked at gets out."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from autograder.probe import observe
from autograder.trace.trace import Opaque, Tensor


class Tagged(torch.Tensor):
    """A subclass of the student's."""


@pytest.mark.parametrize(
    ("given", "dtype", "values"),
    [
        (torch.tensor([1.0, 2.0]), "float32", [1, 2]),
        (torch.tensor(3.5, dtype=torch.float64), "float64", 3.5),
        (torch.tensor([1.5, -2.0], dtype=torch.bfloat16), "bfloat16", [1.5, -2]),
        (torch.tensor([1.0], dtype=torch.float16), "float16", [1]),
        (torch.tensor([1, 2]), "int64", [1, 2]),
        (torch.tensor([True, False]), "bool", [True, False]),
        (torch.tensor([], dtype=torch.uint8), "uint8", []),
        (nn.Parameter(torch.ones(2)), "float32", [1, 1]),
        (torch.ones(2, requires_grad=True) * 2, "float32", [2, 2]),
        (torch.arange(6.0).reshape(2, 3).t(), "float32", [[0, 3], [1, 4], [2, 5]]),
        (torch.ones(1).expand(3), "float32", [1, 1, 1]),
        (torch.tensor([1.0]).neg().as_subclass(Tagged), "float32", [-1]),
    ],
)
def test_a_tensor_is_kept_as_numbers(given: torch.Tensor, dtype: str, values: object) -> None:
    """Whatever its layout, its graph or its class; a dtype keeps torch's name."""
    seen = observe.thing(given)
    assert isinstance(seen, Tensor)
    assert (seen.dtype, seen.array.tolist()) == (dtype, values)


def test_a_kept_tensor_is_a_copy() -> None:
    """What a later step does in place changes no earlier observation."""
    x = torch.zeros(2)
    seen = observe.thing(x)
    x += 1
    assert isinstance(seen, Tensor)
    assert seen.array.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (torch.eye(2).to_sparse(), "Tensor of float32"),
        (torch.zeros(2, device="meta"), "Tensor of float32"),
        (torch.zeros(2, dtype=torch.complex64), "tensor of complex64"),
        (torch.zeros(1).expand(observe.MAX_ELEMENTS + 1), f"tensor of {observe.MAX_ELEMENTS + 1} elements"),
        (np.ones(2), "numpy.ndarray"),
        ([1], "list"),
        (nn.Linear(1, 1), "Linear"),
        (nn.Linear, "type"),
        (len, "builtin_function_or_method"),
        (type("str", (str,), {})("x"), "str"),
        (1j, "complex"),
        (10**400, "int of more than 256 bits"),
    ],
)
def test_anything_else_is_only_named(given: object, words: str) -> None:
    """No numbers are made of what has none, and nothing huge travels."""
    seen = observe.thing(given)
    assert isinstance(seen, Opaque)
    assert seen.type.startswith(words)


@pytest.mark.parametrize("given", [None, True, 3, -2.5, "text", float("nan")])
def test_plain_values_are_themselves(given: object) -> None:
    """A prediction, a flag, a missing gradient."""
    assert observe.thing(given) is given


@pytest.mark.parametrize(("given", "plain"), [(np.float32(1.5), 1.5), (np.int64(3), 3), (np.bool_(True), True)])
def test_a_number_of_numpy_is_a_number(given: object, plain: object) -> None:
    """A prediction computed with numpy is as good as any."""
    seen = observe.thing(given)
    assert seen == plain
    assert type(seen) is type(plain)


def test_the_parts_of_a_returned_value_have_addresses() -> None:
    """They read like code."""
    assert observe.value("result", (1, [2], None)) == {
        "result holds": "tuple of 3", "len(result)": 3, "result[0]": 1, "result[2]": None,
        "result[1] holds": "list of 1", "len(result[1])": 1, "result[1][0]": 2,
    }  # fmt: skip
    assert observe.value("r", {"mean": 1, 2: 3}) == {"r holds": "dict", "r['mean']": 1, "r[2]": 3}
    assert observe.value("r", 5) == {"r": 5}
    assert len(observe.value("r", list(range(1000)))) == observe.MAX_ENTRIES + 2


# --- modules ---------------------------------------------------------------------------------------------------------------


class Odd(nn.Module):
    """Tensors in the wrong places."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.ones(2)
        self.bias = 0.5
        self.register_buffer("running_mean", torch.zeros(2, requires_grad=True) * 1)
        self.register_parameter("running_var", None)
        self.register_buffer("num_batches_tracked", torch.tensor(0), persistent=False)


def test_a_module_shows_kinds_shapes_and_values() -> None:
    """A parameter, a buffer, a mere attribute, None and nothing at all are five different things."""
    seen = observe.state(Odd())
    assert (seen["parameters"], seen["state_dict keys"]) == ("", "running_mean")
    assert seen["buffers"] == "num_batches_tracked, running_mean"
    assert seen["kind of m.weight"] == "neither parameter nor buffer"
    assert (seen["kind of m.bias"], seen["m.bias"]) == ("no tensor", 0.5)
    assert (seen["kind of m.running_mean"], seen["m.running_mean keeps a graph"]) == ("a buffer", True)
    assert (seen["kind of m.running_var"], seen["m.running_var"]) == ("no tensor", None)
    assert seen["shape of m.num_batches_tracked"] == "(), torch.int64"
    assert seen["m.weight_g"] == Opaque("missing")


def test_torchs_own_layer_shows_what_it_keeps() -> None:
    """The names of the contract are torch's."""
    seen = observe.state(nn.BatchNorm1d(2))
    assert seen["parameters"] == "bias, weight"
    assert seen["state_dict keys"] == "bias, num_batches_tracked, running_mean, running_var, weight"
    assert {seen[f"kind of m.{name}"] for name in ("weight", "bias")} == {"a parameter"}
    assert {seen[f"kind of m.{name}"] for name in ("running_mean", "num_batches_tracked")} == {"a buffer"}
    assert seen["m.running_mean keeps a graph"] is False


# --- exceptions ------------------------------------------------------------------------------------------------------------


class Unprintable(ValueError):
    """An exception that fails when it is printed, in a way of its choice."""

    how: BaseException = ValueError()

    def __str__(self) -> str:
        raise self.how


@pytest.mark.parametrize(
    "how", [ValueError("again"), SystemExit(1), RecursionError()], ids=lambda how: type(how).__name__
)
def test_an_exception_that_fails_to_print_is_still_one(how: BaseException) -> None:
    """Its class is known all the same."""
    Unprintable.how = how
    failure = observe.failure(Unprintable())
    assert (failure.type, failure.message) == ("Unprintable", "(the exception could not be printed)")
    assert failure.bases == ("Unprintable", "ValueError", "Exception")


def test_a_long_message_is_cut() -> None:
    """It ends in a report."""
    assert len(observe.failure(ValueError("x" * 10**6)).message) == observe.MAX_TEXT


def from_cell(source: str, name: str = "/tmp/ipykernel_7/123.py") -> dict[str, Any]:
    """Define what a notebook's cell defines, under the file name that IPython gives it."""
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)
    return names


COPIED = "class f:\n    def __deepcopy__(self, memo):\n        raise ValueError('x')\n"


@pytest.mark.parametrize(
    ("source", "call", "functions"),
    [
        ("def f():\n    return g()\ndef g():\n    raise ValueError('x')\n", lambda f: f(), ["f", "g"]),
        ("import torch\ndef f():\n    torch.nn.Linear(2, 2)(torch.ones(3))\n", lambda f: f(), ["f"]),
        ("import json\ndef f():\n    json.loads('{')\n", lambda f: f(), ["f"]),
        (COPIED, lambda f: copy.deepcopy([f()]), ["__deepcopy__"]),
        ("def f(n=30):\n    return f(n - 1) if n else 1 / 0\n", lambda f: f(), ["f"] * 5),
    ],
    ids=["their own", "torch's are left out", "the library's are left out", "called by the library", "only the last five"],
)  # fmt: skip
def test_frames_are_the_students(source: str, call: Any, functions: list[str]) -> None:
    """The line that they wrote, never a line of ours, of torch's or of Python's."""
    f = from_cell(source)["f"]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is not the point
        call(f)
    frames = [frame for frame in observe.failure(caught.value).frames if "test_observe" not in frame.function]
    mine = [frame for frame in frames if frame.function not in ("test_frames_are_the_students", "<lambda>")]
    assert [frame.function for frame in mine] == functions
    assert mine[-1].text in source
    assert mine[-1].text != ""


def test_the_rows_of_weight_norm_are_compared_since_a_fresh_layer_draws_its_numbers() -> None:
    """g against the lengths of v's rows, and whether the rows differ; nothing is said of other shapes."""
    m = nn.Module()
    m.weight_v = nn.Parameter(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
    m.weight_g = nn.Parameter(torch.tensor([[5.0], [2.0]]))
    lengths, rows = "weight_g holds the lengths of the rows of weight_v", "weight_v has different rows"
    assert (observe.state(m)[lengths], observe.state(m)[rows]) == (True, True)
    m.weight_v.data[1] = m.weight_v.data[0]
    assert (observe.state(m)[lengths], observe.state(m)[rows]) == (False, False)
    m.weight_g = nn.Parameter(torch.ones(2))
    assert lengths not in observe.state(m)
