"""Any Jupyter client that asks for the kernel `normalization-box` gets one in a box."""

import os
import threading
import time
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from autograder.sandbox.warm import Fork, Template

pytestmark = pytest.mark.sandbox
NAME = "normalization-box"


def executed(*sources, path, **options):
    """The cells' outputs after stock nbclient ran them."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    resources = {"metadata": {"path": str(path)}}
    NotebookClient(notebook, kernel_name=NAME, allow_errors=True, resources=resources, **options).execute()
    return [cell.outputs for cell in notebook.cells]


def test_the_kernel_is_installed_with_the_package():
    """Interrupts go as messages: a signal would end the box."""
    spec = KernelSpecManager().get_kernel_spec(NAME)
    assert spec.interrupt_mode == "message"
    assert spec.metadata["kernel_provisioner"]["provisioner_name"] == NAME


def test_nbclient_runs_in_the_box(tmp_path):
    """The grader's files are not there; a loop is interrupted and the kernel goes on."""
    source = f"import os\nprint(os.getuid() == {os.getuid()}, os.path.exists('/etc/passwd'))"
    seen, loop, after = executed(
        source, "while True: pass", "print(2)", path=tmp_path, timeout=2, interrupt_on_timeout=True
    )
    assert seen[0]["text"].split() == ["False", "False"]
    assert loop[0]["ename"] == "KeyboardInterrupt"
    assert after[0]["text"] == "2\n"


def test_under_nbgrader_the_files_beside_the_notebook_travel(tmp_path, monkeypatch):
    """As copies, links left out; nbgrader says that it is nbgrader in its environment, and the notebook sees that."""
    (tmp_path / "data.txt").write_text("numbers")
    (tmp_path / "evil").symlink_to("/etc/hostname")
    source = "import os\nprint(open('data.txt').read(), os.path.lexists('evil'), os.environ.get('NBGRADER_EXECUTION'))"
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    read, _ = executed(source, "open('data.txt', 'w').write('changed')", path=tmp_path)
    assert read[0]["text"] == "numbers False autograde\n"
    assert (tmp_path / "data.txt").read_text() == "numbers"
    monkeypatch.delenv("NBGRADER_EXECUTION")
    (without,) = executed(source, path=tmp_path)
    assert without[0]["ename"] == "FileNotFoundError"


def test_a_dead_kernel_is_noticed(tmp_path):
    """nbclient's own error, soon."""
    with pytest.raises(DeadKernelError):
        executed("import os; os._exit(1)", path=tmp_path)


def test_a_restarted_kernel_listens_where_it_did():
    """And shutting down leaves no folder."""
    manager, client = start_new_kernel(kernel_name=NAME)
    folder = Path(manager.connection_file).parent
    try:
        client.execute("x = 1")
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=30)
        reply = client.execute_interactive("print('x' in globals())", output_hook=lambda message: None, timeout=30)
        assert reply["content"]["status"] == "ok"
        assert Path(manager.connection_file).parent == folder
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert not folder.exists()


@pytest.mark.timeout(90)
def test_only_the_keepers_thread_asks_a_fork_whether_it_has_ended(monkeypatch):
    """It closes the handle then, and reads the template's answers; who else asked might get a closed one, or take an answer."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", "warm")
    asked = set()
    for kind, name in ((Fork, "poll"), (Template, "code_of")):
        own = getattr(kind, name)

        def noting(*given, own=own):
            asked.add(threading.current_thread().name)
            time.sleep(0.02)
            return own(*given)

        monkeypatch.setattr(kind, name, noting)
    manager, client = start_new_kernel(kernel_name=NAME)
    client.stop_channels()
    assert manager.is_alive()
    manager.restart_kernel(now=True)
    assert manager.is_alive()
    manager.provisioner._box.stop()
    while manager.is_alive():
        time.sleep(0.001)
    manager.shutdown_kernel(now=True)
    assert not manager.is_alive()
    assert asked == {"box-keeper"}
