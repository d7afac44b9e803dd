"""Messages that student code makes up are shown under no other cell, and never break the grader."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox
LIMITS = Limits(wall_cell_s=5, wall_notebook_s=60)

FORGE = """
from ipykernel.kernelapp import IPKernelApp
kernel = IPKernelApp.instance().kernel
def send(kind, content, parent):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=parent)
"""


def test_outputs_of_foreign_requests_are_ignored(hostile_notebook):
    """A display with the id of another request, and one with none, are dropped."""
    source = (
        FORGE
        + """
for parent in ({"header": {"msg_id": "another"}}, {}, {"header": {}}):
    send("display_data", {"data": {"text/plain": "forged"}, "metadata": {}}, parent)
    send("stream", {"name": "stdout", "text": "forged"}, parent)
print("own")
"""
    )
    run, after = hostile_notebook(source, "print('next')", limits=LIMITS)
    assert "forged" not in str(run.outputs)
    assert run.text == "own\n"
    assert after.text == "next\n"


def test_answers_in_advance_are_not_taken(hostile_notebook):
    """Request ids cannot be guessed: they are not counted up, they are random."""
    source = (
        FORGE
        + """
here = kernel.get_parent()["header"]["msg_id"]
stem, _, number = here.rpartition("_")
for guess in range(50):
    parent = f"{stem}_{guess}"
    kernel.session.link.send("answer", {}, parent, b"forged")
    kernel.session.link.send("reply", {"status": "ok"}, parent)
print(here.isalnum(), len(here))
"""
    )
    run, answer = hostile_notebook(source, "ask:answer('true')", limits=LIMITS)
    assert run.text == "True 32\n"
    assert answer.text == "true"


@pytest.mark.parametrize(
    "content",
    [
        "{'data': {'text/plain': 5, 'x': 'y', 'text/html': ['<p>']}, 'metadata': 7}",
        "{'data': [1, 2], 'metadata': []}",
        "{}",
        "{'data': {'image/png': {'a': 1}}, 'transient': {'display_id': {}}}",
    ],
)
def test_outputs_of_the_wrong_shape_are_made_right(hostile_notebook, content):
    """What is kept is a notebook's output: text by its type, and nothing else."""
    source = (
        FORGE
        + f"""
send("display_data", {content}, kernel.get_parent())
send("stream", {{"name": 5, "text": ["a"]}}, kernel.get_parent())
send("error", {{"ename": 1, "evalue": None, "traceback": "x"}}, kernel.get_parent())
send("status", {{"execution_state": 3}}, kernel.get_parent())
send("no_such_message", {{}}, kernel.get_parent())
"""
    )
    (run,) = hostile_notebook(source, limits=LIMITS)
    assert run.status == "ok"
    for output in run.outputs:
        for mime, value in output.get("data", {}).items():
            assert "/" in mime
            value.encode()


def test_text_that_is_no_unicode_is_made_right(hostile_notebook):
    """Half a surrogate pair passes through JSON, and could not be written to a file."""
    source = (
        FORGE
        + """
kernel.session.link.send("display_data", {"data": {"text/plain": "half \\ud800"}, "metadata": {}})
"""
    )
    (run,) = hostile_notebook(source, limits=LIMITS)
    assert [output["data"] for output in run.outputs] == [{"text/plain": "half ?"}]


def test_garbage_instead_of_messages(hostile_notebook):
    """Frames that are no messages, deep and broken JSON: dropped, and counted as output."""
    source = (
        FORGE
        + """
link = kernel.session.link
parent = link.parent.encode()
bodies = [b"", b"x", b"null", b"[]", b"{}", b"1" * 10_000, b"NaN", b"\\xff\\xfe", b"\\0", b"[" * 100_000, b'{"a": ' * 5000]
for content in (b"[" * 100_000, b'{"a": ' * 5000, b"5", b"null", b'"x"', b'{"text": \\xff}'):
    bodies.append(b'{"kind": "stream", "parent": "%s", "content": %s}' % (parent, content))
for kind in (b"5", b"null", b"{}", b'["stream"]'):
    bodies.append(b'{"kind": %s, "parent": "%s", "content": {}}' % (kind, parent))
    bodies.append(b'{"kind": "stream", "parent": %s, "content": {}}' % kind)
for body in bodies:
    link.socket.sendall(len(body).to_bytes(4, "big") + body)
print("done")
"""
    )
    run, after = hostile_notebook(source, "print(1)", limits=LIMITS)
    assert (run.status, run.text) == ("ok", "done\n")
    assert after.text == "1\n"
