"""An append-only log of finished rows, which survives being killed at any moment.

Format: JSON lines. The first names the work that the rows belong to, each other one is ``[index, row]``. Lines are
forced to disk before they count. A last line without its newline was being written when the writer was killed: it
is dropped, and its setting computed again.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from certified_dp.errors import CertifiedDPError

try:
    import fcntl
except ImportError:  # no advisory locks on this system
    fcntl = None  # type: ignore[assignment]

Row: TypeAlias = dict[str, str]


class LogRefusedError(CertifiedDPError):
    """A log that does not belong to this work, is damaged, or is being written by another process."""


class RowLog:
    """The finished rows of one piece of work, by index; a context manager.

    Attributes:
        rows: what was finished before, and everything appended since.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "log")
        ...     with RowLog(path, "work 1") as log:
        ...         log.append([(3, {"upper": "0.5"})])
        ...     _ = path.write_bytes(path.read_bytes() + b'[4, {"upp')
        ...     with RowLog(path, "work 1") as log:
        ...         print(log.rows)
        {3: {'upper': '0.5'}}
    """

    def __init__(self, path: Path, work: str) -> None:
        """Open or create the log of the work called ``work``.

        Raises: LogRefusedError, OSError.
        """
        self.rows: dict[int, Row] = {}
        self._path = path
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 -- closed by __exit__
        try:
            self._lock()
            self._read(json.dumps({"certified_dp_log": 1, "work": work}).encode() + b"\n")
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LogRefusedError(f"{self._path}: another process is writing this log") from None

    def _read(self, header: bytes) -> None:
        self._file.seek(0)
        content = self._file.read()
        if header.startswith(content):  # new, or killed while it was being created
            self._file.truncate(0)
            self._write(header)
            _sync_folder(self._path.parent)
            return
        if not content.startswith(header):
            raise LogRefusedError(
                f"{self._path}: this log is of different work (another grid or version); choose another output, "
                "or remove the log to begin anew"
            )
        complete, _, _ = content.rpartition(b"\n")
        for number, line in enumerate(complete.split(b"\n")[1:], 2):
            try:
                index, row = json.loads(line)
                if not isinstance(index, int) or not isinstance(row, dict):
                    raise ValueError("not an index with its row")
            except ValueError:
                raise LogRefusedError(f"{self._path}: line {number} is damaged; remove it or the log") from None
            self.rows[index] = row
        self._file.truncate(len(complete) + 1)

    def append(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Add finished rows; when this returns they are on disk."""
        finished = dict(rows)
        self._write(b"".join(json.dumps([index, row]).encode() + b"\n" for index, row in finished.items()))
        self.rows.update(finished)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[self._file.write(data) or 0 :]
        os.fsync(self._file.fileno())

    def __enter__(self) -> "RowLog":
        """Return the open log."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the log; it stays on disk."""
        self._file.close()


def _sync_folder(folder: Path) -> None:
    """Make a new file's name durable, where a folder can be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
