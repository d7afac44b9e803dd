"""The kernel provisioner `normalization-box`: every Jupyter tool that starts a kernel by name gets one in a box.

Set `c.Execute.kernel_name = "normalization-box"` and plain nbgrader (autograde, formgrader's button, validate) runs
student code in the sandbox, with the default `Limits`. Its stock client waits and trusts as it always does; our own
grading uses `KernelSession`.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from autograder.kernel.files import travelling_files
from autograder.kernel.launch import new_folder, start_kernel
from autograder.sandbox.box import Box
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.policy import Limits

PORTS = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4, "hb": 5}
"""The sockets are `k-1` to `k-5` in the run folder."""


class BoxProvisioner(LocalProvisioner):
    """Starts the kernel in a box and talks to it over Unix sockets in the box's run folder.

    The kernel sees none of the working folder. Only under nbgrader, which says so in its environment, do the files
    beside the notebook travel along, as copies.
    """

    limits = Limits()
    _box: Box | None = None
    _folder: RunFolder | None = None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Set transport, connection file and socket paths before jupyter_client writes them down."""
        # A restarted kernel must listen where its clients are connected already.
        name = self._folder.path.name if self._folder else None
        await self._wait_for_end()
        self._folder = await asyncio.to_thread(new_folder, name)
        manager: Any = self.parent
        manager.transport = "ipc"
        manager.ip = str(self._folder.path / "k")
        manager.connection_file = str(self._folder.path / "c.json")
        for channel, port in PORTS.items():
            setattr(manager, f"{channel}_port", port)
        try:
            return await super().pre_launch(**kwargs)
        except BaseException:
            self._folder.remove()
            raise

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Start the box. `cmd` is not used: what runs is our kernel, whatever a kernel specification says."""
        assert self._folder is not None
        variables = {}
        files = {}
        execution = (kwargs.get("env") or {}).get("NBGRADER_EXECUTION")
        if execution:
            variables["NBGRADER_EXECUTION"] = str(execution)
            if kwargs.get("cwd"):
                room = self.limits.scratch_mb * 2**20 // 2
                files = travelling_files(Path(kwargs["cwd"]), room)
        future = start_kernel(self._folder.path / "c.json", self._folder, self.limits, files=files, variables=variables)
        self._box = await asyncio.wrap_future(future)
        process: Any = self._box.process  # a Popen, or as much of one as this class uses
        self.process, self.pid = process, process.pid
        return self.connection_info

    async def poll(self) -> int | None:
        """Return the exit code, or None while the box lives; nobody but the keeper's thread may ask the process itself."""
        if self._box is None or self.process is None:
            return 0
        if self._box.alive:
            return None
        code = self.process.returncode  # none of a box that could not be watched any more
        return 1 if code is None else int(code)

    async def send_signal(self, signum: int) -> None:
        """End the box; an interrupt goes as a message (kernel.json), since as a signal it would hit bubblewrap."""
        if self._box is not None and signum != signal.SIGINT and signum != 0:
            self._box.stop()

    async def kill(self, restart: bool = False) -> None:
        """End the box."""
        await self.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    async def terminate(self, restart: bool = False) -> None:
        """End the box; a boxed kernel has nothing to save."""
        await self.kill(restart)

    async def wait(self) -> int | None:
        """Wait until the whole tree is gone and the run folder deleted."""
        await self._wait_for_end()
        code = self.process.returncode if self.process else 0
        self.process = None
        return code

    async def cleanup(self, restart: bool = False) -> None:
        """End the box if it still runs; may be called twice."""
        await self.kill()
        await self._wait_for_end()

    async def _wait_for_end(self) -> None:
        if self._box is not None:
            await asyncio.wrap_future(self._box.ended)
