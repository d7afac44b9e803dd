"""Where a gradebook lies: its address, its tables, and what is said when it cannot be opened.

The address is nbgrader's `CourseDirectory.db_url`: SQLite, PostgreSQL or what else SQLAlchemy knows. A password may stand in it;
no message shows one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nbgrader.api import Base
from nbgrader.dbutil import ALEMBIC_DIR
from sqlalchemy import URL, create_engine, inspect, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from autograder.errors import CourseError

BUSY_TIMEOUT_S = 60  # for the person who has the gradebook open meanwhile; Python's own 5 s is shorter than a click


def patient_url(db_url: str) -> URL:
    """Return a database's address; SQLite waits for a minute while somebody else writes, unless the address says how long.

    Raises:
        CourseError: it is no address.
    """
    try:
        url = make_url(db_url)
        url.get_dialect()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise CourseError(
            "CourseDirectory.db_url is no address of a database; write sqlite:///gradebook.db or "
            f"postgresql+psycopg://HOST/NAME. ({type(error).__name__})"
        ) from error
    if url.get_backend_name() == "sqlite" and "timeout" not in url.query:
        url = url.update_query_dict({"timeout": str(BUSY_TIMEOUT_S)})
    return url


def make_tables(address: URL) -> None:
    """Do for an empty database what nbgrader does; that starts the program `alembic` to ask for a word that stands in a file."""
    engine = create_engine(address)
    try:
        with engine.begin() as connection:
            if not inspect(connection).get_table_names():
                # A tenth of a second, which is needed once in a course's life.
                from alembic.migration import MigrationContext
                from alembic.script import ScriptDirectory

                Base.metadata.create_all(connection)
                MigrationContext.configure(connection).stamp(ScriptDirectory(ALEMBIC_DIR), "head")
    finally:
        engine.dispose()


@contextmanager
def opening(address: URL) -> Iterator[None]:
    """Say in a sentence why a gradebook cannot be opened.

    Raises:
        CourseError: it cannot.
    """
    shown = address.render_as_string(hide_password=True)
    try:
        yield
    except ImportError as error:
        raise CourseError(
            f"The gradebook {shown} needs the package {error.name}, which is not installed; for PostgreSQL: "
            "pip install '.[postgres]'."
        ) from error
    except DBAPIError as error:
        raise CourseError(
            f"The gradebook {shown} cannot be opened: {str(error.orig).strip()}\n"
            "Is the server running, may you connect, and has the database been made (createdb)?"
        ) from error
