"""A notebook is played to its end whatever its cells do: a deadly one is left out, the rest goes on, within limits.

Most tests play with a kernel of this process that dies when it is told to; the last ones with a real one in its box.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fake_kernel import FakeKernel

from autograder.checks.check import Check, Draw, Lab
from autograder.errors import SandboxError
from autograder.grading import run as playing
from autograder.grading.judge import Judge
from autograder.grading.run import Item, Played, ahead, finish, play
from autograder.kernel.client import Answer
from autograder.kernel.outputs import CellError
from autograder.probe.serve import READY
from autograder.sandbox.policy import Limits
from autograder.trace.codec import dump_traces
from autograder.trace.scenario import Call, Scenario


def _asks(target: str) -> Callable[[Draw], tuple[Scenario, ...]]:
    """A function of its own for each check, so that no two of them ask alike."""
    return lambda draw: (Scenario("two numbers", (Call(target, (draw.tensor(2),)),)),)


CHECKS = (
    *(Check(name, "double", 1, "twice", _asks("double")) for name in ("d1", "d2", "d3")),
    *(Check(name, "triple", 1, "thrice", _asks("triple")) for name in ("t1", "t2")),
)
LAB = Lab("lab", "A lab", ("double", "triple"), CHECKS, {"double": lambda x: 2 * x, "triple": lambda x: 3 * x})
DOUBLE = Item("def double(x):\n    return 2 * x")
TRIPLE = Item("def triple(x):\n    return 3 * x")
D1, D2, D3, T1, T2 = (Item(check=check.name) for check in CHECKS)
DIES = Item("die()")
LIMITS = Limits(cpu_s=30, wall_cell_s=10, wall_notebook_s=60)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> type[FakeKernel]:
    """The class of this test's kernels: how many were started, what they ran."""

    class Mine(FakeKernel):
        pass

    monkeypatch.setattr(playing, "KernelSession", Mine)
    return Mine


def played(*items: Item, limits: Limits = LIMITS) -> Played:
    """Play some items."""
    return play(items, Judge(LAB, 1), limits)


def passed(result: Played) -> list[str]:
    """The checks whose traces are right."""
    judge = Judge(LAB, 1)
    return [name for name, traces in result.traces.items() if judge.verdict(LAB.check(name), traces).passed]


def test_cells_run_in_order_and_checks_see_what_is_defined_then(kernel: type[FakeKernel]) -> None:
    """As for the student, from top to bottom."""
    result = played(D1, DOUBLE, D2, Item("double = abs"), D3)
    assert passed(result) == ["d2"]
    assert set(result.outputs) == {1, 3}
    assert set(result.traces) == {"d1", "d2", "d3"}
    assert (result.reasons, result.notes) == ({}, [])
    assert (kernel.started, kernel.open) == (1, 0)


def test_a_cell_that_fails_leaves_the_others(kernel: type[FakeKernel]) -> None:
    """Its error is kept."""
    result = played(Item("1 / 0"), DOUBLE, D1)
    assert result.outputs[0].error == CellError("ZeroDivisionError", "division by zero", "")
    assert passed(result) == ["d1"]


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("y = torch.nn.Linear(2, 2)(x)\ny.sum().backward()", ()),
        ("optimizer = SGD(p)\nx.backward( )\nmy_autograd.grad(x)\noptimal.Adam(p)", ()),
        ("optim.SGD(p)", ("torch._dynamo",)),
        ("from torch import nn\nfrom torch.optim import SGD", ("torch._dynamo",)),
        ("y.backward(torch.ones(2))", ("torch.fx.experimental.symbolic_shapes",)),
        ("y.backward(\n    seed)", ("torch.fx.experimental.symbolic_shapes",)),
        ("torch.autograd.grad(y, x)", ("torch.fx.experimental.symbolic_shapes",)),
        ("autograd.backward(y)", ("torch.fx.experimental.symbolic_shapes",)),
        (
            "y.backward(g)\ntorch.autograd.grad(y, x)\ntorch.optim.Adam(p)",
            ("torch._dynamo", "torch.fx.experimental.symbolic_shapes"),
        ),
    ],
)
def test_the_template_is_told_what_code_will_have_torch_import(source: str, modules: tuple[str, ...]) -> None:
    """Each once, whichever of the cells needs it."""
    assert ahead(["", source, "x = 1"]) == modules
    assert ahead([source, source]) == modules


def test_empty_and_skipped_cells_do_not_run(kernel: type[FakeKernel]) -> None:
    """An experiment of ours that nothing graded needs, a cell of blanks."""
    result = played(Item("  \n"), Item("die()", skip=True), DOUBLE, D1)
    assert kernel.ran == [DOUBLE.source]
    assert set(result.outputs) == {2}
    assert passed(result) == ["d1"]


def test_a_deadly_cell_is_left_out_and_the_rest_goes_on(kernel: type[FakeKernel]) -> None:
    """In a new kernel, with what was defined before."""
    result = played(DOUBLE, DIES, TRIPLE, D1, T1)
    assert passed(result) == ["d1", "t1"]
    assert kernel.ran == [DOUBLE.source, "die()", DOUBLE.source, TRIPLE.source]
    assert result.notes == ["Cell 2 was left out of the rest of the run: The kernel died."]
    assert (kernel.started, kernel.open) == (2, 0)


def test_a_check_that_ends_the_kernel_costs_itself(kernel: type[FakeKernel]) -> None:
    """The others of the notebook are asked in a new one."""
    result = played(Item("def double(x): die()"), D1, TRIPLE, T1)
    assert result.reasons == {"d1": "The kernel died."}
    assert passed(result) == ["t1"]


def test_after_two_deaths_an_exercise_is_given_up(kernel: type[FakeKernel]) -> None:
    """The third check is not run; other exercises are."""
    result = played(Item("def double(x): die()"), D1, D2, D3, TRIPLE, T1, T2)
    assert result.reasons["d3"] == "not run: double had to be stopped in two other checks"
    assert passed(result) == ["t1", "t2"]
    assert kernel.started == 4  # one for the request that asked for all three at once


def test_slow_checks_count_like_deaths(kernel: type[FakeKernel]) -> None:
    """A timeout in a scenario is a stop too."""
    late = Item("class ScenarioTimeout(Exception): pass\ndef double(x): raise ScenarioTimeout('it took long')")
    result = played(late, D1, D2, D3, TRIPLE, T1)
    assert set(result.traces) == {"d1", "d2", "t1"}
    assert result.reasons["d3"].startswith("not run: double had to be stopped")


def test_an_interrupted_check_counts_although_its_kernel_lives(kernel: type[FakeKernel]) -> None:
    """A layer that sleeps is interrupted; the others of its exercise may not use up the notebook's time."""
    asked: list[str] = []

    async def ask(self: FakeKernel, function: str, given: bytes, **words: object) -> Answer:
        if function == READY:
            return await FakeKernel.ask(self, function, given, **words)
        asked.append(function)
        return Answer("timeout", None, None, "It took too long.")

    kernel.ask = ask  # type: ignore[method-assign]
    result = played(DOUBLE, D1, D2, D3)
    assert len(asked) == 3  # all at once, then one by one
    assert result.reasons["d1"] == "It took too long."
    assert result.reasons["d3"].startswith("not run: double had to be stopped")
    assert kernel.started == 2  # what was begun for all at once must not be seen by those that are asked one by one


def test_a_cell_that_kills_only_the_second_kernel_is_found(kernel: type[FakeKernel]) -> None:
    """While the notebook is brought back to where it stood."""
    sometimes = Item("import builtins\nbuiltins.seen = getattr(builtins, 'seen', 0) + 1\nif builtins.seen == 2: die()")
    try:
        result = played(sometimes, DOUBLE, DIES, D1)
    finally:
        import builtins

        del builtins.seen  # type: ignore[attr-defined]
    assert passed(result) == ["d1"]
    assert kernel.started == 3


def test_kernels_are_not_replaced_for_ever(kernel: type[FakeKernel]) -> None:
    """What was earned before is kept, the rest says why it was not run."""
    result = played(DOUBLE, D1, *[DIES] * (playing.RESTARTS + 1), TRIPLE, T1)
    assert passed(result) == ["d1"]
    assert result.reasons == {"t1": f"not run: the kernel had died {playing.RESTARTS + 1} times"}
    assert result.notes[-1] == f"The run was given up: the kernel had died {playing.RESTARTS + 1} times."
    assert (kernel.started, kernel.open) == (playing.RESTARTS + 1, 0)
    assert TRIPLE.source not in kernel.ran


def test_the_notebooks_time_is_bounded(kernel: type[FakeKernel]) -> None:
    """A new kernel gets what is left of it, and none when nothing is left."""
    slow = Item("import time\ntime.sleep(0.3)\ndie()")
    result = played(DOUBLE, D1, slow, T1, limits=Limits(wall_notebook_s=0.2))
    assert passed(result) == ["d1"]
    assert result.reasons == {"t1": "not run: the notebook had used its 0.2 seconds"}
    assert kernel.started == 1


class Counts:
    """A layer whose answers depend on how often it was called, and which the third call of a kernel may end."""

    source = (
        "calls = 0\ndef double(x):\n    global calls\n    calls += 1\n    return 2 * x if calls < {good} else {then}"
    )


@pytest.mark.parametrize(
    ("then", "right", "why"),
    [
        ("die()", ["d1", "d2"], {"d3": "The kernel died."}),
        ("0 * x", ["d1", "d2"], {}),
        ("1 / 0", ["d1", "d2"], {}),
    ],
)
def test_checks_that_are_asked_together_show_what_they_show_one_by_one(
    kernel: type[FakeKernel], monkeypatch: pytest.MonkeyPatch, then: str, right: list[str], why: dict[str, str]
) -> None:
    """Also where the third of them ends the kernel: nothing of the first try is kept."""
    layer = Item(Counts.source.format(good=3, then=then))
    together = played(layer, D1, D2, D3)
    assert passed(together) == right
    assert together.reasons == why

    async def one_by_one(self: Any, asked: list[tuple[int, str]]) -> None:
        for index, name in asked:
            await self._ask(index, name, {})

    monkeypatch.setattr(playing._Player, "_ask_all", one_by_one)
    alone = played(layer, D1, D2, D3)
    assert (alone.reasons, alone.notes) == (together.reasons, together.notes)
    assert {name: dump_traces(traces) for name, traces in alone.traces.items()} == {
        name: dump_traces(traces) for name, traces in together.traces.items()
    }


def test_one_request_is_enough_where_no_code_stands_between_checks(kernel: type[FakeKernel]) -> None:
    """Five checks, two requests: a cell of the student's stands in the middle."""
    asked: list[str] = []
    ask = FakeKernel.ask

    async def noting(self: FakeKernel, function: str, given: bytes, **words: object) -> Answer:
        asked.append(function)
        return await ask(self, function, given, **words)

    kernel.ask = noting  # type: ignore[method-assign]
    assert passed(played(DOUBLE, D1, Item(), D2, D3, TRIPLE, T1, T2)) == ["d1", "d2", "d3", "t1", "t2"]
    assert len([function for function in asked if function != READY]) == 2


SAME = _asks("double")
ALIKE = Lab(
    "lab",
    "A lab",
    ("double", "triple"),
    (
        *(Check(name, "double", 1, "twice", SAME) for name in ("d1", "d2", "d3")),
        Check("t1", "triple", 1, "thrice", _asks("triple")),
    ),
    {"double": lambda x: 2 * x, "triple": lambda x: 3 * x},
)


@pytest.mark.parametrize(
    ("items", "calls", "right"),
    [
        ((D1, D2, D3), 1, ["d1", "d2", "d3"]),
        ((D1, TRIPLE, D2, D3), 2, ["d1", "d2", "d3"]),
        ((D1, T1, D2), 1, ["d1", "d2"]),
        ((D1, Item("def double(x): return 0 * x"), D2, D3), 1, ["d1"]),
        ((D2,), 1, ["d2"]),
    ],
    ids=["in a row", "a cell between them", "another check between them", "a cell that changes it", "one of them"],
)
def test_what_several_checks_ask_alike_is_run_once(
    kernel: type[FakeKernel], monkeypatch: pytest.MonkeyPatch, items: tuple[Item, ...], calls: int, right: list[str]
) -> None:
    """All of them have its traces; where a cell stands between them, it is another run."""
    counted: list[Any] = []
    layer = Item("calls = 0\ndef double(x):\n    global calls\n    calls += 1\n    seen(calls)\n    return 2 * x")
    begin = FakeKernel.__init__

    def with_counter(self: FakeKernel, limits: Limits, **words: object) -> None:
        begin(self, limits, **words)
        self.names["seen"] = counted.append

    monkeypatch.setattr(kernel, "__init__", with_counter)
    result = play([layer, *items], Judge(ALIKE, 1), LIMITS)
    judge = Judge(ALIKE, 1)
    assert counted == list(range(1, calls + 1))
    assert [n for n, t in result.traces.items() if judge.verdict(ALIKE.check(n), t).passed] == right


@pytest.mark.parametrize("then", ["die()", "1 / 0"])
def test_what_ends_a_kernel_costs_all_that_ask_alike_and_no_other(kernel: type[FakeKernel], then: str) -> None:
    """A check that asks something else is answered in a new one."""
    result = play([Item(f"def double(x): {then}"), TRIPLE, D1, D2, D3, T1], Judge(ALIKE, 1), LIMITS)
    judge = Judge(ALIKE, 1)
    assert [n for n, t in result.traces.items() if judge.verdict(ALIKE.check(n), t).passed] == ["t1"]
    assert set(result.traces) | set(result.reasons) == {"d1", "d2", "d3", "t1"}


@pytest.mark.parametrize("reply", [b"", b"junk", b"\x80\x04pickle", b"\xff" * 100])
def test_a_forged_reply_is_a_reason(kernel: type[FakeKernel], reply: bytes) -> None:
    """Not an exception, and no trace."""
    kernel.reply = reply
    result = played(DOUBLE, D1)
    assert result.traces == {}
    assert result.reasons["d1"].startswith("The reply of the kernel is not a trace") or "header" in result.reasons["d1"]


def test_a_kernel_that_cannot_start_is_no_grade(kernel: type[FakeKernel]) -> None:
    """It is our trouble; nothing is left open."""
    kernel.starts = False
    with pytest.raises(SandboxError, match=r"The probe does not start in a kernel: It is ill"):
        played(DOUBLE, D1)
    assert kernel.open == 0


def test_it_can_be_played_where_a_loop_is_running(kernel: type[FakeKernel]) -> None:
    """In a Jupyter server, for instance."""

    async def outer() -> Played:
        return played(DOUBLE, D1)

    assert passed(asyncio.run(outer())) == ["d1"]


def test_what_was_played_is_not_put_into_words(kernel: type[FakeKernel]) -> None:
    """asyncio asks for the words of what a task returns, and all numbers of a lab take longer than the lab's checks."""
    played = play([DOUBLE, D1], Judge(LAB, 1), LIMITS)
    assert played.traces
    assert len(repr(played)) < 100


def test_what_goes_wrong_of_ours_comes_out() -> None:
    """From either kind of loop."""

    async def fails() -> None:
        raise SandboxError("ours")

    async def outer() -> None:
        finish(fails())

    with pytest.raises(SandboxError):
        finish(fails())
    with pytest.raises(SandboxError):
        asyncio.run(outer())


@pytest.mark.sandbox
def test_a_real_notebook_with_two_deaths() -> None:
    """A cell that exits and a check that exits, in the box: everything else is graded."""
    result = played(
        DOUBLE, Item("import os\nos._exit(3)"), D1, Item("def double(x):\n    import os; os._exit(3)"), D2, TRIPLE, T1
    )
    assert passed(result) == ["d1", "t1"]
    assert set(result.reasons) == {"d2"}
    assert result.reasons["d2"] != ""
    assert len(result.notes) == 1


@pytest.mark.sandbox
def test_a_real_notebook_that_takes_too_long() -> None:
    """The wall time of the notebook ends it; what was earned is kept."""
    limits = Limits(cpu_s=30, wall_cell_s=60, wall_notebook_s=8)
    result = played(DOUBLE, D1, Item("import time\ntime.sleep(50)"), TRIPLE, T1, limits=limits)
    assert passed(result) == ["d1"]
    assert result.reasons["t1"] == "not run: the notebook had used its 8 seconds"
    assert result.outputs[2].reason != ""
