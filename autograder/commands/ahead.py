"""Workers that begin while the gradebook is still being made: a first result waits for nothing longer than for their imports.

A worker that has begun knows its course's folder and has read nothing in it. It reads when it gets its first submission, and nobody
hands one out before the gradebook is there: nbgrader makes the lab's release anew for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

from autograder.grading.pool import Crew

Opens = Callable[[Crew], AbstractContextManager[Executor]]


@contextmanager
def ahead(open_crew: Opens, crew: Crew) -> Iterator[Opens]:
    """Open a crew whose first workers begin now, and give what opens crews: this one when it is first asked, then others.

    A crew that nobody has asked for is closed in the end.
    """
    with ExitStack() as unasked:
        early = _Early(unasked.enter_context(open_crew(crew)), crew.at_first)

        @contextmanager
        def opens(wanted: Crew) -> Iterator[Executor]:
            if early.is_taken:
                with open_crew(wanted) as another:
                    yield another
            else:
                with unasked.pop_all():
                    yield early.take()

        yield opens


class _Early:
    """An executor whose workers are beginning."""

    def __init__(self, executor: Executor, workers: int) -> None:
        self.is_taken = False
        self._executor = executor
        self._beginning: list[Future[int]] = []
        # In a thread, since each process is waited for until it is there.
        self._asks = threading.Thread(target=self._ask, args=(workers,), name="begin-workers", daemon=True)
        self._asks.start()

    def _ask(self, workers: int) -> None:
        with suppress(RuntimeError, OSError):  # a broken executor says so to whoever gives it work
            for _ in range(workers):
                self._beginning.append(self._executor.submit(int))

    def take(self) -> Executor:
        """Return it when its workers have begun: to one that is not idle yet, it would add another."""
        self.is_taken = True
        self._asks.join()
        wait(self._beginning)
        return self._executor
