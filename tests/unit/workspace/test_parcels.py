"""Claims about files inside an exported trace: what was packed comes out, and what is not ours is refused."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from chrono.audit.record import Actor
from chrono.errors import Denied, StoreError
from chrono.store.parcel import BadParcel
from chrono.workspace import parcels
from chrono.workspace.parcels import packed, unpacked
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save


def test_a_savepoint_comes_out_as_it_was(ws: Workspace, by: Actor, root: Path) -> None:
    (root / "bin").mkdir()
    (root / "bin" / "run").write_bytes(b"\x00\xff" * 1000)
    (root / "bin" / "run").chmod(0o700)
    (root / "empty").mkdir()
    commit = save(ws, "auto", "x", by).commit
    value = json.loads(json.dumps(packed(ws, commit)))
    with parcels.scratch(unpacked(value)) as folder:
        assert ws.store.changed_in(folder, commit) == ()
        assert (Path(folder) / "bin" / "run").stat().st_mode & 0o777 == 0o700
        assert not (Path(folder) / ".chrono").exists()
    assert not Path(folder).exists()


def test_a_savepoint_that_is_too_large_is_not_packed(
    ws: Workspace, by: Actor, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chrono.store import parcel

    (root / "big").write_bytes(b"x" * 5000)
    commit = save(ws, "auto", "x", by).commit
    monkeypatch.setattr(parcel.gather, "__defaults__", (4000,))
    with pytest.raises(StoreError, match="holds more than"):
        packed(ws, commit)


def test_files_that_usually_keep_secrets_leave_only_where_somebody_agreed(ws: Workspace, by: Actor, root: Path) -> None:
    (root / ".env").write_text("TOKEN=x\n")
    commit = save(ws, "auto", "x", by).commit
    with pytest.raises(Denied, match=r"usually keep secrets.*\n  \.env"):
        packed(ws, commit)
    with parcels.scratch(unpacked(packed(ws, commit, include_secrets=True))) as folder:
        assert (Path(folder) / ".env").read_text() == "TOKEN=x\n"


def written(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


@pytest.mark.parametrize(
    "files",
    [
        {}, {"savepoint": 1, "objects": []}, {"savepoint": "0" * 40, "objects": "x"}, {"savepoint": "0" * 40, "objects": [1]},
        {"savepoint": "0" * 40, "objects": ["not base64 ☃"]}, {"savepoint": "0" * 40, "objects": [written(b"blob 9\0one")]},
        {"savepoint": "0" * 40, "objects": [written(b"tag 3\0one")]}, {"savepoint": "0" * 40, "objects": [written(b"")]},
        {"savepoint": "0" * 40, "objects": [written(b"blob 3\0one")[:-8]]}, {"savepoint": "0" * 40, "objects": []},
    ],
)  # fmt: skip
def test_what_is_not_written_by_chrono_is_refused(files: dict[str, Any]) -> None:
    with pytest.raises(BadParcel):
        unpacked(files)


def test_a_small_text_that_unpacks_to_gigabytes_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "MOST_BYTES", 1 << 20)
    bomb = written(b"blob %d\0" % (64 << 20) + b"\0" * (64 << 20))
    assert len(bomb) < 100_000
    with pytest.raises(BadParcel, match="too large"):
        unpacked({"savepoint": "0" * 40, "objects": [bomb]})
