"""The checks of the small lab in tests/submissions, as they would stand in solutions/lab09_tiny/checks.py."""

from autograder.checks.check import Check, Draw, Lab, Mistake
from autograder.trace.scenario import Call, Scenario


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


def scenarios(name: str):
    def draw_them(draw: Draw) -> tuple[Scenario, ...]:
        return tuple(Scenario(f"x of shape ({n},)", (Call(name, (draw.tensor(n, loc=2.0),)),)) for n in (2, 3))

    return draw_them


SQUARED = Mistake(
    id="double-squares",
    exercise="double",
    check="double",
    title="The value is multiplied by itself, not by two",
    symptom="double(2) is right and double(3) is 9",
    hint="What does the function do to 3?",
    page="book/mathematical-formulation.html#the-set",
    source="def double(x):\n    return x * x\n",
)

LAB = Lab(
    name="lab09_tiny",
    title="Two functions",
    contract=("double", "triple"),
    checks=(
        Check("double", "double", 2, "twice the value", scenarios("double")),
        Check("triple", "triple", 3, "three times the value", scenarios("triple")),
    ),
    reference={"double": double, "triple": triple},
    mistakes=(SQUARED,),
)
