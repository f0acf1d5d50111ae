"""Claims about the resident service and the client's trust in it. The engine is a stand-in; the socket is real."""

import contextlib
import os
import posix
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import chrono
from chrono.agents.protocol import Reply
from chrono.guard import client, service, servicelog, wire
from chrono.layout import HomeLayout
from tests.waiting import LONG_S, until

PACKAGE = os.path.dirname(os.path.abspath(chrono.__file__))
BUILD = wire.build_id(PACKAGE)


class Engine:
    """Answers with what it was asked, once it may go on and as many calls as `meeting` wants are there."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.callers: list[object] = []
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.meeting = threading.Barrier(1)

    def __call__(self, adapter: str, payload: bytes, caller: object, resources: object) -> Reply:
        self.asked.append((adapter, payload))
        self.callers.append(caller)
        assert self.goes_on.wait(LONG_S)
        self.meeting.wait(LONG_S)
        return Reply(b"out " + payload, b"err", 2)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HomeLayout:
    layout = HomeLayout(str(tmp_path / "s"))
    os.makedirs(layout.run, mode=0o700)
    monkeypatch.setenv("CHRONO_HOME", layout.root)
    # In a busy machine both may stand still for longer than a hook would wait.
    monkeypatch.setattr(client, "ACCEPT_S", LONG_S)
    monkeypatch.setattr(service, "READ_S", LONG_S)
    monkeypatch.setattr(service, "DEADLINE_S", LONG_S)
    return layout


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(service, "answer", made)
    return made


@contextmanager
def running(home: HomeLayout, **settings: float) -> Iterator[service.Service]:
    made = service.Service(home, PACKAGE, **{"look_s": 0.02, **settings})
    thread = threading.Thread(target=made.serve)
    thread.start()
    try:
        until(lambda: os.path.exists(socket_of(home)))
        yield made
    finally:
        made.stop()
        thread.join(LONG_S)
        assert not thread.is_alive()


def socket_of(home: HomeLayout) -> str:
    return os.fsdecode(wire.socket_path(os.fsencode(home.root), BUILD, os.getuid()))


def ask(home: HomeLayout, payload: bytes = b"{}") -> tuple[bytes, bytes, int] | None:
    try:
        return client._ask(wire, posix, BUILD, os.fsencode(home.root), "some-agent", payload, time.monotonic())
    except (OSError, wire.Malformed, ValueError):
        return None


def test_an_answer_comes_back_as_the_engine_gave_it(home: HomeLayout, engine: Engine) -> None:
    with running(home):
        assert ask(home, b"\xff\0" * 70_000) == (b"out " + b"\xff\0" * 70_000, b"err", 2)
        caller = engine.callers[0]
    assert caller.pid == os.getpid()  # type: ignore[attr-defined]
    assert engine.asked[0][0] == "some-agent"


def test_the_environment_is_the_one_of_the_call(
    home: HomeLayout, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(home):
        monkeypatch.setitem(posix.environ, b"ODD", b"a=b\xff")
        ask(home)
    assert engine.callers[0].environ["ODD"] == "a=b\udcff"  # type: ignore[attr-defined]


def test_nobody_there_is_no_answer(home: HomeLayout) -> None:
    assert ask(home) is None


def test_a_squatter_without_the_key_is_not_believed(home: HomeLayout, engine: Engine) -> None:
    with running(home):
        pass  # the key of a service that is gone lies about
    path = socket_of(home)
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(path)
        os.chmod(path, 0o600)
        squatter.listen()

        def answer() -> None:
            connection, _ = squatter.accept()
            with connection:
                connection.recv(1 << 16)
                body = wire.pack((b"", b"", b"0"))
                connection.sendall(wire.ACCEPTED + wire.sealed(b"w" * wire.KEY_BYTES, body, b"nonce", b"request"))

        thread = threading.Thread(target=answer)
        thread.start()
        assert ask(home) is None
        thread.join(LONG_S)


def test_an_answer_to_another_request_is_not_believed(home: HomeLayout, engine: Engine) -> None:
    with running(home):
        key = Path(os.fsdecode(wire.run_file(os.fsencode(home.root), BUILD, "key"))).read_bytes()
    old = wire.sealed(key, wire.pack((b"", b"", b"0")), b"n" * wire.NONCE_BYTES, b"an older request")
    with socket.socket(socket.AF_UNIX) as replayer:
        replayer.bind(socket_of(home))
        replayer.listen()

        def answer() -> None:
            connection, _ = replayer.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(wire.ACCEPTED + old)

        thread = threading.Thread(target=answer)
        thread.start()
        assert ask(home) is None
        thread.join(LONG_S)


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_run_folder_that_others_can_enter_is_not_used(home: HomeLayout, engine: Engine, mode: int) -> None:
    with running(home):
        os.chmod(home.run, mode)
        assert ask(home) is None
        os.chmod(home.run, 0o700)
        assert ask(home) is not None


def test_a_key_that_others_can_read_or_that_is_a_link_is_not_used(home: HomeLayout, engine: Engine) -> None:
    path = os.fsdecode(wire.run_file(os.fsencode(home.root), BUILD, "key"))
    with running(home):
        os.chmod(path, 0o644)
        assert ask(home) is None
        os.chmod(path, 0o600)
        os.rename(path, path + ".real")
        Path(path).symlink_to(path + ".real")
        assert ask(home) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("protocol", b"chrono-hook/0"),
        ("build", b"0" * 12),
        ("cwd_id", b"1:1"),
        ("cwd", b"/nowhere/at/all"),
        ("namespace", b"1"),
        ("umask", b"511"),
        ("home", b"/another/home"),
        ("environ", b"A=1\0CHRONO_AUDIT_KEY=x"),
        ("nonce", b"short"),
    ],
)
def test_who_sees_another_machine_is_sent_away(
    home: HomeLayout, engine: Engine, monkeypatch: pytest.MonkeyPatch, field: str, value: bytes
) -> None:
    real = client._fields

    def changed(*arguments: object) -> tuple[bytes, ...]:
        fields = list(real(*arguments))  # type: ignore[arg-type]
        fields[wire.FIELDS.index(field)] = value
        return tuple(fields)

    with running(home):
        assert ask(home) is not None
        monkeypatch.setattr(client, "_fields", changed)
        assert ask(home) is None
    assert len(engine.asked) == 1


def test_a_request_without_the_key_is_not_evaluated(home: HomeLayout, engine: Engine) -> None:
    with running(home), socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(socket_of(home))
        stranger.sendall(wire.sealed(b"w" * wire.KEY_BYTES, wire.pack((b"",) * len(wire.FIELDS))))
        assert stranger.recv(1) == wire.REFUSED
    assert engine.asked == []


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\xff\xff\xff\xff", struct.pack(">I", 40) + b"x" * 40, b"GET / HTTP/1.1\r\n"]
)
def test_noise_does_not_end_the_service(home: HomeLayout, engine: Engine, data: bytes) -> None:
    with running(home):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(socket_of(home))
            stranger.sendall(data)
        assert ask(home) is not None


def test_what_takes_too_long_is_blocked_and_finished_all_the_same(
    home: HomeLayout, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "DEADLINE_S", 0.1)
    engine.goes_on.clear()
    with running(home) as made:
        monkeypatch.setattr(made._resources, "adapter", lambda name: chrono_adapter())
        answer = ask(home)
        engine.goes_on.set()
    assert answer is not None
    assert answer[2] == 2
    assert b"still saving" in answer[1]


def chrono_adapter() -> object:
    from chrono.agents.claude_code import ADAPTER

    return ADAPTER


def test_calls_are_answered_side_by_side(home: HomeLayout, engine: Engine) -> None:
    engine.meeting = threading.Barrier(8)  # none is answered before all are there
    with running(home):
        threads = [threading.Thread(target=ask, args=(home,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(engine.asked) == 8 and not engine.meeting.broken


def test_it_leaves_when_it_is_idle_and_takes_its_socket_along(home: HomeLayout, engine: Engine) -> None:
    made = service.Service(home, PACKAGE, idle_s=0.05, look_s=0.02)
    made.serve()
    assert not os.path.exists(socket_of(home))


@pytest.mark.parametrize("what", ["socket replaced", "socket gone", "home gone", "code changed"])
def test_it_leaves_when_it_has_become_the_wrong_one(
    home: HomeLayout, engine: Engine, monkeypatch: pytest.MonkeyPatch, what: str, tmp_path: Path
) -> None:
    code = tmp_path / "module.py"
    code.write_text("1")
    monkeypatch.setattr(service, "_source_paths", lambda: [str(code)])
    made = service.Service(home, PACKAGE, look_s=0.02)
    thread = threading.Thread(target=made.serve)
    thread.start()
    until(lambda: os.path.exists(socket_of(home)))
    if what == "socket replaced":
        os.rename(socket_of(home), socket_of(home) + ".old")
        Path(socket_of(home)).write_text("")
    elif what == "socket gone":
        os.unlink(socket_of(home))
    elif what == "home gone":
        os.rename(home.root, home.root + ".old")
    else:
        code.write_text("22")  # of another size: the times of two writes may be the same
    thread.join(LONG_S)
    assert not thread.is_alive()
    if what == "socket replaced":
        assert os.path.exists(socket_of(home)), "another one's socket is left alone"


def test_a_stale_service_answers_no_more(
    home: HomeLayout, engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = tmp_path / "module.py"
    code.write_text("1")
    monkeypatch.setattr(service, "_source_paths", lambda: [str(code)])
    with running(home, look_s=0.3):
        code.write_text("22")
        assert ask(home) is None
    assert engine.asked == []


def test_key_and_socket_are_private(home: HomeLayout, engine: Engine) -> None:
    with running(home):
        for end in ("key", "sock"):
            info = os.lstat(os.fsdecode(wire.run_file(os.fsencode(home.root), BUILD, end)))
            assert info.st_mode & 0o077 == 0
        first = Path(os.fsdecode(wire.run_file(os.fsencode(home.root), BUILD, "key"))).read_bytes()
    with running(home):
        assert Path(os.fsdecode(wire.run_file(os.fsencode(home.root), BUILD, "key"))).read_bytes() != first


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, True),
        ({b"CHRONO_SERVICE": b"auto"}, True),
        ({b"CHRONO_SERVICE": b"off"}, False),
        ({b"CHRONO_SERVICE": b"nonsense"}, False),
        ({b"CHRONO_AUDIT_KEY": b"x"}, False),
        ({b"CHRONO_AUDIT_KEY_FILE": b"x"}, False),
        ({b"CHRONO_AUDIT_UNSIGNED": b"1"}, False),
    ],
)
def test_when_the_service_may_be_asked(environ: dict[bytes, bytes], wanted: bool) -> None:
    assert client._service_wanted(environ, b"/h") is wanted
    assert client._service_wanted(environ, None) is False


def log_of(home: HomeLayout) -> str:
    return "\n".join(servicelog.lines(os.fsdecode(wire.run_file(os.fsencode(home.root), BUILD, "log")), 0))


def test_it_says_why_it_came_left_and_sent_somebody_away(home: HomeLayout, engine: Engine) -> None:
    with running(home):
        until(lambda: "listens" in log_of(home))
        wrong = os.umask(0o007)
        try:
            assert ask(home, b"secret words") is None
        finally:
            os.umask(wrong)
        os.unlink(socket_of(home))
        until(lambda: "leaves" in log_of(home))
    said = log_of(home)
    assert f"sent process {os.getpid()} away: it sees another file system" in said
    assert "its socket is gone" in said
    assert "secret" not in said


def test_a_log_that_grew_is_begun_anew_and_the_last_is_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    for at in range(3000):
        servicelog.note(path, f"line {at} " + "x" * 100)
    assert Path(path).stat().st_size <= servicelog.MAX_BYTES + 300
    assert servicelog.lines(path, 1)[0].split()[3] == "2999"
    os.unlink(path)
    os.mkfifo(path)
    servicelog.note(path, "nobody reads this fifo")  # and nobody waits for it
    os.unlink(path)
    Path(path).symlink_to("/nowhere")
    servicelog.note(path, "no link is followed")
    assert not os.path.exists("/nowhere")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_believed_and_not_served(home: HomeLayout, engine: Engine) -> None:
    """A process of another user that holds the key (leaked, say) gets no answer, and is not taken for the service."""
    os.chmod(home.root, 0o711)
    with running(home):
        key = Path(os.fsdecode(wire.run_file(os.fsencode(home.root), BUILD, "key"))).read_bytes()
        nonce = os.urandom(wire.NONCE_BYTES)
        body = wire.pack(client._fields(wire, posix, BUILD, os.fsencode(home.root), "a", b"{}", nonce))
        os.chmod(home.run, 0o711)
        os.chmod(socket_of(home), 0o666)
        for folder in Path(home.root).parents:
            if folder.stat().st_uid == 0 and folder.stat().st_mode & 0o011 != 0o011:
                folder.chmod(folder.stat().st_mode | 0o011)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgid(65534)
                os.setuid(65534)
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(socket_of(home))
                with contextlib.suppress(BrokenPipeError):  # whoever is refused need not be listened to
                    connection.sendall(wire.sealed(key, body))
                os.write(writer, connection.recv(1) or b"-")
            except BaseException as error:
                os.write(writer, repr(error).encode())
            finally:
                os._exit(0)
        os.close(writer)
        said = os.read(reader, 1000)
        os.close(reader)
        os.waitpid(child, 0)
    assert said == wire.REFUSED
    assert engine.asked == []
