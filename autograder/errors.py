"""The errors of the autograder: one small tree, nothing else.

A student's failure is data (a verdict), the sandbox's failure is a status of a run; only *our* failures, and those of the
person who gave a command, are exceptions. Exceptions of other packages are mapped to these at the seam where they appear.

AutograderError
|-- UsageError            the command's words are off (exit code 2)
|-- CourseError           a file of the course is missing or wrong: a lab, a check, a configuration
|-- ProtocolError         bytes that should hold a trace or a scenario do not
|-- ClusterError          graders on other machines cannot be had, or one was lost (exit code 3)
`-- SandboxError          the sandbox failed while it worked (exit code 3)
    `-- SandboxUnavailable    this machine cannot give one

Every message says what was wrong, what was given and what to do next.
"""


class AutograderError(Exception):
    """The root of the tree; catch it where a command ends."""


class UsageError(AutograderError):
    """A command was given words that it does not know."""


class CourseError(AutograderError):
    """A file of the course is missing, or does not say what it must."""


class ProtocolError(AutograderError):
    """Bytes from the other side of the sandbox are not what they should be."""


class ClusterError(AutograderError):
    """A cluster, or a grader of one, is not there or not fit; never a grade."""


class SandboxError(AutograderError):
    """The sandbox could not do its work; never the student's fault, never a grade."""


class SandboxUnavailable(SandboxError):
    """This machine offers no sandbox; grading refuses unless it is told to go without."""
