"""Owns what a notebook or an IPython script runs: its code cells as one program, with `!lines` and cells of a shell.

Which interpreter runs other files is left to `scripts`.
"""

from __future__ import annotations

import re

from chrono.scan.command import Refusal
from chrono.scan.follow.scene import File, Scene, Started, mapping

Answers = list[Started | Refusal]

_SHELL_CELL = re.compile(r"^%%(?:bash|sh|script[ \t]+(?:ba|z)?sh)\b[^\n]*\n")
_LINE_MAGIC = re.compile(r"^([ \t]*)(?:[\w, ]+=[ \t]*)?(?:!!?|%sx[ \t]+|%system[ \t]+)(.+)$")
_VERBS = frozenset(("nbconvert", "execute", "run", "notebook"))


def from_notebook(scene: Scene) -> Answers:
    """The notebooks and IPython scripts that `jupyter`, `papermill`, `ipython` and their like run."""
    if scene.program == "jupyter" and not (_VERBS & set(scene.args[:1]) and _runs(scene)):
        return []
    if scene.program not in ("jupyter", "papermill", "ipython", "runipy", "jupytext", "ipython3"):
        return []
    answers: Answers = []
    for word in scene.args:
        path = scene.path(word) if isinstance(word, str) and word.endswith((".ipynb", ".ipy")) else None
        file = scene.read(path) if path else None
        if isinstance(file, File):
            link = scene.shown(file.path)
            answers.append(scene.start(_program(file), "python", link, file=file))
    return answers


def _runs(scene: Scene) -> bool:
    return scene.args[:1] != ("nbconvert",) or "--execute" in scene.args


def _program(file: File) -> str:
    if not file.path.endswith(".ipynb"):
        return _without_magics(file.text)
    import json

    try:
        cells = mapping(json.loads(file.text)).get("cells")
    except (ValueError, RecursionError):
        return ""
    texts: list[str] = []
    for cell in cells if isinstance(cells, list) else ():
        if mapping(cell).get("cell_type") == "code":
            source = mapping(cell).get("source")
            texts.append("".join(map(str, source)) if isinstance(source, list) else str(source))
    return "\n".join(map(_without_magics, texts))


def _without_magics(text: str) -> str:
    """A cell as Python: what a shell runs becomes `os.system`, other magics comments."""
    if _SHELL_CELL.match(text):
        return f"__import__('os').system({_SHELL_CELL.sub('', text)!r})"
    lines = []
    for line in text.splitlines():
        magic = _LINE_MAGIC.match(line)
        if magic is not None:
            line = f"{magic[1]}__import__('os').system({magic[2]!r})"
        elif line.lstrip().startswith("%"):
            line = "pass" if line[:1] == "%" else "#"
        lines.append(line)
    return "\n".join(lines)
