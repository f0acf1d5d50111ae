"""Owns what commands of PowerShell and cmd.exe do to files: which of their words are paths, and what happens to those.

PowerShell's commands come as its evaluator writes them: full names, paths first, `-Name:value` for the rest. What a
path is is left to `scan.paths`, whether it matters to the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chrono.scan.command import Command, Pattern, Word
from chrono.scan.options import Parsed, parse
from chrono.scan.paths import Claim
from chrono.scan.rule import Options

POWERSHELL: Options = ("powershell", ())
SLASH: Options = ("slash", ())

_TOOLS = frozenset(
    """
    reg regedit regini sc net net1 netsh schtasks vssadmin wbadmin wmic bcdedit reagentc fsutil diskpart format
    cipher taskkill wevtutil auditpol bitsadmin certutil mshta rundll32 regsvr32 cscript wscript msiexec shutdown
    cmdkey vaultcmd dism diskshadow setx logoff psexec psexec64 winrs ntdsutil procdump procdump64 esentutl runas
    manage-bde iisreset bootsect winrm wsl installutil cmstp odbcconf sdelete sdelete64 tscon bcdboot mpcmdrun fltmc
    powershell pwsh cmd winget choco scoop route ipconfig at wslconfig
    """.split()
)

Reader = Callable[[str, Parsed], Iterator[Claim]]

_DRIVES = frozenset(
    """hklm hkcu hkcr hku hkcc hkey_local_machine hkey_current_user hkey_users hkey_classes_root registry env function
    alias variable cert wsman""".split()
)


def windows_claims(name: str, command: Command) -> Iterator[Claim]:
    """What a command of Windows does to paths; nothing for other programs."""
    reader = _READERS.get(name)
    if reader is None:
        return
    for how, word, last_link in reader(name, parse(command.argv, windows_options(name))):
        if not _is_elsewhere(word):
            yield how, word, last_link


def is_windows_command(name: str) -> bool:
    """Whether `windows_claims` knows the command, whatever shell runs it."""
    return name in _READERS and name not in _ONLY_THERE


def is_windows_tool(name: str) -> bool:
    """Whether a program is one of Windows' own, whose words may be in capitals or not."""
    return name in _TOOLS or is_windows_command(name)


def knows(name: str) -> bool:
    """Whether `windows_claims` knows the command where a shell of Windows runs it."""
    return name in _READERS


def windows_options(name: str) -> Options:
    """How the options of a command of Windows are read."""
    return POWERSHELL if "-" in name else SLASH


def _is_elsewhere(word: Word) -> bool:
    """Whether a path names the registry or another store that is no file system."""
    head = word if isinstance(word, str) else word.pieces[0] if isinstance(word, Pattern) and word.pieces else None
    if head is None:
        return False
    drive, colon, _ = head.partition(":")
    if not colon or len(drive) < 2:
        return False
    return drive.lower().rpartition("\\")[2] in _DRIVES


def _all(words: tuple[Word, ...], how: str, last_link: bool = False) -> Iterator[Claim]:
    for word in words:
        yield how, word, last_link


def _filtered(words: tuple[Word, ...], filters: tuple[Word, ...]) -> tuple[Word, ...]:
    """Folders (or globs over them) together with the names that a filter lets through, at any depth."""
    if not filters:
        return words
    found: list[Word] = []
    for word in words:
        if not isinstance(word, str):
            found.append(word)
            continue
        base = word.rstrip("*").rstrip("\\/") if word.endswith("*") else word.rstrip("\\/")
        for name in filters:
            found.append(below(base, name))
    return tuple(found)


def below(base: str, name: Word) -> Word:
    """Everything of a name or with an ending, at any depth below a folder."""
    if not isinstance(name, str):
        return Pattern((f"{base}/", None))
    if name in ("*", "*.*", ""):
        return f"{base}/*"
    if name.startswith("*"):
        return Pattern((f"{base}/", None, name.lstrip("*")))
    return Pattern((f"{base}/", None, f"/{name}"))


# --- PowerShell


def _remove_item(name: str, parsed: Parsed) -> Iterator[Claim]:
    filters = parsed.values("-Include", "-Filter")
    tree = parsed.has("-Recurse")
    words = parsed.words + parsed.values("-LiteralPath")
    if filters:
        yield from _all(_filtered(words, filters), "delete", True)
        return
    yield from _all(without_output(words), "delete-tree" if tree else "delete", True)


def without_output(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`bin` beside `obj` is what .NET builds; alone it may be anything."""
    if not any(_last(word) == "obj" for word in words):
        return words
    return tuple(word for word in words if _last(word) != "bin")


def _last(word: Word) -> str:
    text = word if isinstance(word, str) else (word.pieces[-1] or "") if isinstance(word, Pattern) else ""
    return text.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()


def _move_item(name: str, parsed: Parsed) -> Iterator[Claim]:
    into = parsed.values("-Destination")
    gone = any(isinstance(word, str) and word.lower() in ("nul", "/dev/null") for word in into)
    yield from _all(parsed.words, "delete-tree" if gone else "move", True)
    for target in into:
        yield "write", target, False
        yield from _into(target, parsed.words)


def _is_nothing(words: tuple[Word, ...]) -> bool:
    """Whether what is read is the device that holds nothing: copying it empties a file."""
    return bool(words) and all(isinstance(word, str) and word.lower() in ("nul", "/dev/null") for word in words)


def _copy_item(name: str, parsed: Parsed) -> Iterator[Claim]:
    empties = _is_nothing(parsed.words)
    if not empties:
        yield from _all(parsed.words, "read")
    for target in parsed.values("-Destination", "-DestinationPath"):
        yield ("empty" if empties else "write"), target, False
        yield from _into(target, parsed.words)


def _into(target: Word, sources: tuple[Word, ...]) -> Iterator[Claim]:
    """What is copied to a folder lies in it under its own name; whether the target is one is not known here."""
    if not isinstance(target, str):
        return
    for source in sources[:24]:
        if isinstance(source, str):
            last = source.replace("\\", "/").rstrip("/").rpartition("/")[2]
            if last not in ("", ".", ".."):
                yield "write", f"{target.rstrip(chr(92) + '/')}/{last.replace('*', 'x')}", False


def _rename_item(name: str, parsed: Parsed) -> Iterator[Claim]:
    return _all(parsed.words[:1], "move", True)


def _set_content(name: str, parsed: Parsed) -> Iterator[Claim]:
    how = "write"
    if name == "add-content" or parsed.has("-Append"):
        how = "append"
    elif name == "clear-content" or (name in ("set-content", "out-file") and parsed.values("-Value") == ("",)):
        how = "empty"
    elif parsed.has("-NoClobber"):
        return
    yield from _all(parsed.words + parsed.values("-FilePath"), how)


def _new_item(name: str, parsed: Parsed) -> Iterator[Claim]:
    kinds = [word.lower() for word in parsed.values("-ItemType") if isinstance(word, str)]
    if any(kind.startswith("dir") for kind in kinds):
        return
    if any("link" in kind or kind == "junction" for kind in kinds):
        yield from _all(parsed.words, "link", True)
        return
    names = parsed.values("-Name")
    words: list[Word] = []
    for word in parsed.words or (".",):
        if names and isinstance(word, str):
            words.extend(f"{word}/{inner}" for inner in names if isinstance(inner, str))
        else:
            words.append(word)
    how = "append"
    if parsed.has("-Force"):
        how = "write" if parsed.values("-Value") else "empty"
    yield from _all(tuple(words), how)


def _read(name: str, parsed: Parsed) -> Iterator[Claim]:
    return _all(parsed.words + parsed.values("-Path", "-LiteralPath"), "read")


def _read_path(name: str, parsed: Parsed) -> Iterator[Claim]:
    return _all(parsed.values("-Path", "-LiteralPath"), "read")


def _fetch(name: str, parsed: Parsed) -> Iterator[Claim]:
    yield from _all(parsed.values("-OutFile"), "write")
    yield from _all(parsed.values("-InFile", "-Attachments"), "read")
    for word in parsed.values("-Form"):
        text = word if isinstance(word, str) else ""
        if "=" in text and ("\\" in text or "/" in text):
            yield "read", text.partition("=")[2], False


def _transfer(name: str, parsed: Parsed) -> Iterator[Claim]:
    yield from _all(tuple(w for w in parsed.words if not (isinstance(w, str) and "://" in w)), "read")
    yield from _all(tuple(w for w in parsed.values("-Destination") if not (isinstance(w, str) and "://" in w)), "write")


def _set_acl(name: str, parsed: Parsed) -> Iterator[Claim]:
    return _all(parsed.words, "mode")


def _archive(name: str, parsed: Parsed) -> Iterator[Claim]:
    yield from _all(parsed.words, "read")
    yield from _all(parsed.values("-DestinationPath"), "write")


# --- cmd.exe


def _everything(word: Word) -> Word:
    r"""`*.*` means every name in cmd.exe, `folder\` all in the folder."""
    if isinstance(word, str) and word.endswith("*.*"):
        return word[:-2]
    if isinstance(word, Pattern) and word.pieces and word.pieces[-1] is not None and word.pieces[-1].endswith("*.*"):
        return Pattern((*word.pieces[:-1], word.pieces[-1][:-2]))
    return word


def _del(name: str, parsed: Parsed) -> Iterator[Claim]:
    deep = parsed.has("/s")
    for written in parsed.words:
        word = _everything(written)
        if deep and isinstance(word, str):
            base, sign, last = word.replace("\\", "/").rpartition("/")
            if ("*" in last and last.strip("*.")) or ("*" not in last and "." in last):
                yield "delete", below(base if sign else ".", last), True
                continue
            yield "delete-tree", word, True
            continue
        yield ("delete-tree" if deep else "delete"), word, True


def _rd(name: str, parsed: Parsed) -> Iterator[Claim]:
    if parsed.has_any(("/s", "-Recurse", "-r")):
        yield from _all(parsed.words, "delete-tree", True)


def _move(name: str, parsed: Parsed) -> Iterator[Claim]:
    words = tuple(map(_everything, parsed.words))
    sources = words[:-1] if len(words) > 1 else words
    gone = len(words) > 1 and isinstance(words[-1], str) and words[-1].lower() == "nul"
    yield from _all(sources, "delete-tree" if gone else "move", True)
    if len(words) > 1:
        yield "write", words[-1], False
        yield from _into(words[-1], sources)


def _copy(name: str, parsed: Parsed) -> Iterator[Claim]:
    words = tuple(_everything(word) for word in parsed.words)
    sources = words[:-1] if len(words) > 1 else words
    empties = _is_nothing(sources)
    if not empties:
        yield from _all(sources, "read")
    if len(words) > 1:
        yield ("empty" if empties else "write"), words[-1], False
        yield from _into(words[-1], () if empties else sources)


def _rename(name: str, parsed: Parsed) -> Iterator[Claim]:
    return _all(parsed.words[:1], "move", True)


def _type(name: str, parsed: Parsed) -> Iterator[Claim]:
    return _all(parsed.words, "read")


def _findstr(name: str, parsed: Parsed) -> Iterator[Claim]:
    words = parsed.words if parsed.has_any(("/c", "/g")) else parsed.words[1:]
    return _all(words, "read")


def _robocopy(name: str, parsed: Parsed) -> Iterator[Claim]:
    if parsed.has("/l"):
        return
    mirror = parsed.has_any(("/mir", "/purge"))
    yield from _all(parsed.words[:1], "delete-tree" if parsed.has_any(("/move", "/mov")) else "read")
    yield from _all(parsed.words[1:2], "delete-tree" if mirror else "write")


def _icacls(name: str, parsed: Parsed) -> Iterator[Claim]:
    changes = ("/grant", "/deny", "/reset", "/setowner", "/inheritance", "/remove", "/restore", "/e", "/g", "/p", "/d")
    if parsed.has_any((*changes, "/inheritancelevel")) or any(
        flag.lower().startswith("/grant") for flag, _ in parsed.flags
    ):
        yield from _all(parsed.words[:1], "mode-tree" if parsed.has("/t") else "mode")


def _takeown(name: str, parsed: Parsed) -> Iterator[Claim]:
    given = tuple(value for value in parsed.values("/f") if value)
    yield from _all(given or parsed.words[:1], "owner-tree" if parsed.has("/r") else "owner")


def _attrib(name: str, parsed: Parsed) -> Iterator[Claim]:
    words = tuple(w for w in parsed.words if not (isinstance(w, str) and w[:1] in "+-" and len(w) < 3))
    if len(words) < len(parsed.words) or any(flag[:1] == "-" for flag, _ in parsed.flags):
        yield from _all(words, "mode-tree" if parsed.has("/s") else "mode")


def _mklink(name: str, parsed: Parsed) -> Iterator[Claim]:
    yield from _all(parsed.words[:1], "link", True)


def _certutil(name: str, parsed: Parsed) -> Iterator[Claim]:
    if parsed.has_any(("-decode", "-decodehex", "-encode", "-encodehex")):
        yield from _all(parsed.words[:1], "read")
        yield from _all(parsed.words[1:2], "write")
    elif parsed.has("-urlcache"):
        yield from _all(parsed.words[1:2], "write")


_READERS: dict[str, Reader] = {
    "remove-item": _remove_item,
    "ri": _remove_item,
    "move-item": _move_item,
    "copy-item": _copy_item,
    "rename-item": _rename_item,
    **dict.fromkeys(
        ("set-content", "add-content", "clear-content", "out-file", "tee-object", "export-csv", "export-clixml"),
        _set_content,
    ),
    "new-item": _new_item,
    **dict.fromkeys(("get-content", "format-hex", "import-csv", "import-clixml"), _read),
    "select-string": _read_path,
    **dict.fromkeys(("invoke-webrequest", "invoke-restmethod", "send-mailmessage"), _fetch),
    "start-bitstransfer": _transfer,
    "set-acl": _set_acl,
    "compress-archive": _archive,
    "expand-archive": _archive,
    "del": _del,
    "erase": _del,
    "rd": _rd,
    "rmdir": _rd,
    "move": _move,
    "copy": _copy,
    "xcopy": _copy,
    "ren": _rename,
    "rename": _rename,
    "type": _type,
    "findstr": _findstr,
    "robocopy": _robocopy,
    "icacls": _icacls,
    "cacls": _icacls,
    "takeown": _takeown,
    "attrib": _attrib,
    "mklink": _mklink,
    "certutil": _certutil,
}
_ONLY_THERE = frozenset("type copy move rename ren rmdir".split())
"""Names that mean something else, or nothing, to a Unix shell."""
