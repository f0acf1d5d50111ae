"""Claims about Python of other versions than the one that runs here: what it does is seen, what is harmless runs."""

from __future__ import annotations

import pytest

from chrono.scan.code.languages import commands_of
from chrono.testing.world import FakeWorld

FOREIGN = {
    "type parameters": "def first[T](xs: list[T]) -> T:\n    return xs[0]\nclass A[T: (int, str)](dict):\n    pass\n",
    "a type statement": "type X[T] = list[T]\n",
    "quotes in a formatted text": 'd = {\'a\': 1}\nprint(f"x {d["a"]} y")\n',
    "exceptions without brackets": "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
    "a template text": "x = t'hello {1}'\n",
    "Python 2": "print 'hello'\nprint\ntry:\n    pass\nexcept ValueError, e:\n    print e\nmode = 0755\n",
    "a line nobody reads": "x = 1 +* 2\n",
    "a block nobody reads": "if x +* y:\n    print(1)\n",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_what_stands_behind_foreign_syntax_is_read(text: str) -> None:
    found = commands_of("python", text + "import shutil\nshutil.rmtree('/srv')\n", world=FakeWorld(), name="a.py")
    assert [command.argv for command in found.commands] == [("rm", "-rf", "/srv")]
    assert found.refusals == ()
    last = found.commands[0].via[-1]
    assert last == f"a.py:{text.count(chr(10)) + 2} shutil.rmtree"


@pytest.mark.parametrize("line", ["shutil.rmtree(+* '/srv')", "os.system('x' +*)", "getattr(os +* 1, 'x')()"])
def test_a_line_that_may_do_something_is_refused_where_it_cannot_be_read(line: str) -> None:
    found = commands_of("python", f"import os, shutil\n{line}\n", world=FakeWorld(), name="a.py")
    assert [refusal.kind for refusal in found.refusals] == ["unparsed"]


def test_a_file_of_which_little_can_be_read_is_refused() -> None:
    text = "x = 1 +* 2\n" * 40 + "import shutil\nshutil.rmtree('build')\n"
    found = commands_of("python", text, world=FakeWorld(), name="a.py")
    assert [refusal.kind for refusal in found.refusals] == ["unparsed"]
