"""The course as nbgrader sees it. Every `nbgrader` command that is run from this folder reads this file.

Nothing here replaces a part of nbgrader other than through the options it has for that; what each replacement is for
is said where it lives, in autograder/plugins.

Environment:
    NBGRADER_EXCHANGE   the folder through which labs go out and submissions come in (default: exchange/ here)
    GRADEBOOK_URL       the gradebook's database (default: gradebook.db here); postgresql+psycopg://HOST/NAME for one on a server,
                        whose password stands in ~/.pgpass and nowhere here
    COURSE_URL          where the website lies, for links in feedback (default: the website built here)
"""

import os
import secrets
import sys
from pathlib import Path

from autograder.authoring.stubs import CODE_STUB, TEXT_STUB

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there

root = Path(__file__).resolve().parent

# nbgrader starts the program `alembic` when it makes a gradebook; it lies beside Python, which need not be on the path.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"

# Where everything lies. One process writes the gradebook at a time; the timeout (of SQLite) is for the person who looks meanwhile.
c.CourseDirectory.course_id = "normalization"
c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = "_build/source"
c.CourseDirectory.release_directory = "labs"
c.CourseDirectory.db_url = os.environ.get("GRADEBOOK_URL") or f"sqlite:///{root / 'gradebook.db'}?timeout=60"
c.NbGrader.logfile = ""

exchange = Path(os.environ.get("NBGRADER_EXCHANGE", root / "exchange"))
if exchange == root / "exchange":
    exchange.mkdir(exist_ok=True)  # a shared one is the administrator's to make, with its permissions
c.Exchange.root = str(exchange)
c.ExchangeFactory.collect = "autograder.plugins.exchange.Collect"
c.ExchangeFactory.release_feedback = "autograder.plugins.exchange.ReleaseFeedback"

c.ZipCollectApp.extractor_plugin = "autograder.plugins.archive.Extract"
# Files that a learning platform hands over in one archive: NAME_..._lab01_batch_norm....ipynb
c.FileNameCollectorPlugin.named_regexp = (
    r".*[/\\](?P<student_id>[^\W_][\w.@+-]*?)_(?:[^/\\]*_)?(?P<file_id>lab\d\d_[a-z]+(?:_[a-z]+)*)[^/\\]*$"
)

# What students find in the place of a solution; labs/ is made with the same words (make labs).
c.ClearSolutions.code_stub = {"python": CODE_STUB}
c.ClearSolutions.text_stub = TEXT_STUB

# autograde: read the file as hostile, graft it onto our release, grade it in the sandbox, let nbgrader record.
c.Autograde.pre_convert_hook = "autograder.plugins.intake.sweep"
c.Autograde.exporter_class = "autograder.plugins.sanitize.SubmissionExporter"
c.Autograde.autograde_preprocessors = [
    "autograder.plugins.execute.Execute",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Execute.seed = secrets.randbelow(1 << 31)  # one for the whole class; --Execute.seed=N grades as before
c.Execute.kernel_name = "normalization-box"  # for `nbgrader validate`, which runs a notebook as a student would

# A person looks at submissions in formgrader, at their own risk no longer.
c.HTMLExporter.filters = {"markdown2html": "autograder.plugins.safety.markdown2html"}
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.exclude_raw = True

c.GenerateFeedback.exporter_class = "autograder.plugins.feedback.FeedbackExporter"
c.GenerateFeedback.preprocessors = ["autograder.plugins.feedback.Grades"]
c.FeedbackExporter.book_url = os.environ.get("COURSE_URL", "../../../_build/html/")

c.ExportApp.plugin_class = "autograder.plugins.export.CsvExport"
