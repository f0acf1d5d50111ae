"""Owns what PowerShell and cmd.exe find around them: the environment, small files, command lines of programs.

What programs start in turn is left to `windows`.
"""

from __future__ import annotations

from collections.abc import Mapping

from chrono.scan.world import Read, World

MAX_FILE_BYTES = 200_000
_BLANKS = " \t\r\n"
_USUAL = {
    "systemdrive": "C:",
    "homedrive": "C:",
    "systemroot": "C:\\Windows",
    "windir": "C:\\Windows",
    "programfiles": "C:\\Program Files",
    "programfiles(x86)": "C:\\Program Files (x86)",
    "programw6432": "C:\\Program Files",
    "commonprogramfiles": "C:\\Program Files\\Common Files",
    "programdata": "C:\\ProgramData",
    "allusersprofile": "C:\\ProgramData",
    "public": "C:\\Users\\Public",
    "comspec": "C:\\WINDOWS\\system32\\cmd.exe",
    "os": "Windows_NT",
    "pathext": ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC",
}


def environment_of(world: World, name: str) -> str | None:
    """A variable of the environment as it is set, or as Windows always sets it; None for any other."""
    lower = name.lower()
    written = world.env(name) or world.env(name.upper())
    if written is not None:
        return written
    if lower == "username":
        return world.user
    below_home = _BELOW_HOME.get(lower)
    return _USUAL.get(lower) if below_home is None else world.home + below_home


_BELOW_HOME = {
    **dict.fromkeys(("userprofile", "homepath", "home"), ""),
    "appdata": "/AppData/Roaming",
    "localappdata": "/AppData/Local",
    **dict.fromkeys(("temp", "tmp"), "/AppData/Local/Temp"),
    "onedrive": "/OneDrive",
}


def file_text(world: World, written: Mapping[str, str], path: str) -> str | None:
    """The text of a small file, as the text itself has `written` it or as it is on the machine; None where neither."""
    if path in written:
        return written[path]
    answer = world.read(path, MAX_FILE_BYTES)
    if not isinstance(answer, Read):
        return None
    text = answer.data.decode("utf-8", "replace")
    return None if "\0" in text else text


def argv_of_line(text: str) -> list[str]:
    """The arguments as a program's own start-up code splits its command line: as `words_of` does, but `\\"` is a quote
    that holds nothing together."""
    return _split(text, _BLANKS, escapes=True)


def words_of(text: str, *, signs: str = "") -> list[str]:
    """The words of a command's rest: blanks (and `signs`) part them, double quotes hold them together and go."""
    return _split(text, _BLANKS + signs, escapes=False)


def _split(text: str, parting: str, *, escapes: bool) -> list[str]:
    words: list[str] = []
    word: list[str] = []
    quoted = had = False
    at = 0
    while at < len(text):
        char = text[at]
        if escapes and text.startswith('\\"', at):
            word.append('"')
            at += 1
        elif char == '"':
            quoted = not quoted
            had = True
        elif not quoted and char in parting:
            if word or had:
                words.append("".join(word))
            word, had = [], False
        else:
            word.append(char)
        at += 1
    if word or had:
        words.append("".join(word))
    return words
