"""Records of a run's folder are read whole, and take no more memory than they are long."""

import subprocess
import sys
from pathlib import Path

import msgspec

from perftui.ipc.run_files import ExitRecord, read_record, write_record
from perftui.ipc.units import MIB

LITTLE_ADDRESS_SPACE = """
import resource, sys
from pathlib import Path
from perftui.ipc.run_files import ExitRecord, read_record
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 32 * 2**20,) * 2)
print(read_record(Path(sys.argv[1]), ExitRecord).exit_code)
"""


def test_a_record_is_read_where_little_address_space_is_left(tmp_path: Path) -> None:
    path = tmp_path / "exit.json"
    write_record(path, ExitRecord(exit_code=7, ended_unix=1.0))
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_ADDRESS_SPACE, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "7\n", done.stderr


def test_a_file_that_is_too_long_to_be_ours_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "exit.json"
    record = ExitRecord(exit_code=7, ended_unix=1.0)
    path.write_bytes(msgspec.json.encode(record) + b"\n")
    assert read_record(path, ExitRecord) == record
    with path.open("r+b") as stream:
        stream.truncate(257 * MIB)
    assert read_record(path, ExitRecord) is None
