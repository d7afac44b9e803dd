"""What the tests of the sandbox share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.sandbox.keeper import keeper
from autograder.sandbox.warm import Template


@pytest.fixture
def template() -> Iterator[Template]:
    """A template without torch."""
    made = keeper().call(lambda: Template(["json"])).result()
    made.wait_until_ready(60)
    yield made
    made.close()
