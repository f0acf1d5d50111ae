"""Owns the calls of languages without a reader of their own (Lua, R, Tcl, Go, Rust, Java, Elixir, …) as shell text.

Only constant texts and paths count, home being one; the rest is silent. Signs of whole programs (sockets, fork bombs)
are left to `foreign`, languages with a reader to `scan.code`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_CHARS = 60_000
_MAX_FOUND = 60

_STRING = r"(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)')"
_SHELL_CALL = re.compile(
    r"\b(?:system2?|os\.execute|io\.popen|popen|shell|shell-command(?:-to-string)?|os:cmd|:os\.cmd|call-process-shell"
    r"-command|uiop:run-program|execShellCmd|execCmd|gorge|callCommand|Sys\.command|local|run_command|System\.(?:cmd|shell)|"
    r"Runtime\.getRuntime\(\)\.exec|do shell script|cmd\.exec)\s*\(?\s*" + _STRING
)
_EXECUTED = re.compile(_STRING + r"\s*\.(?:execute\(\)|!+(?!=))")
_BACKTICKS = re.compile(r"\brun\s*\(\s*`([^`]+)`")
_SPOKEN = re.compile(r"(?:^|[;\[{\n])[ \t]*(?:exec|spawn)[ \t]+([^;\n\]]+)")
_EDITOR_LINES = re.compile(
    r"(?:^|\|)[ \t]*(?::?(?:sil(?:ent)?!?[ \t]+)?!|shell[ \t]+|platform shell[ \t]+)(?![=~])([^\n]+)$", re.MULTILINE
)
_WORDS_CALL = re.compile(
    r"\bexec\.Command(?:Context)?\(|\bCommand::new\(|\bProcessBuilder\(|\baddSystemCommand\(|\b(?:call|read|create)Process\s+|\((?:[\w.]+/)?sh\s+|\bProcess(?:\.run|\.start|\.runSync)\(|"
    r"\bsh\.(?:Run\w*|Exec|Output)\(|\bSystem\.cmd\(|\.exec\(\s*new\s+String\[\]|\bsystem2\(|\bProcess\.spawn\(|\bexecv\w*\(|\bPort\.open\("
)
_LISTED = re.compile(
    r"(?:=|\bin)\s*&?(?:vec!|\[\]string|\[_\]\w+)?\s*[\[{]\s*\"(rm|dd|shred|mkfs[\w.]*)\"\s*,([^\]}\n]*)[\]}]"
)
"""A list of words that begins with a program that destroys, which a call takes by its name."""
_FINDER = re.compile(
    r"\bdelete\s+(?:\(?\s*(?:every|all)\s+(?:item|file|folder)s?\s+(?:of|in)\s+)(?:home|\(?path to home)"
)
_LAUNCHED = re.compile(
    r"\b(?:launchPath\s*=\s*|executableURL\s*=\s*URL\(fileURLWithPath:\s*)\"([^\"]+)\"\)?[^\[]{0,80}arguments\s*=\s*\[([^\]]*)\]"
)
_DELETES = re.compile(
    r"\b(?:unlink|rm|rm_rf!?|File\.rm_rf!?|File\.rm!?|delete-directory|delete-file|os\.remove|file\.remove|"
    r"file\s+delete(?:\s+-force)?(?:\s+--)?|fs::dir_delete|lfs\.rmdir|os\.RemoveAll|os\.Remove|sh\.Rm|remove_dir_all|"
    r"FileUtils\.deleteDirectory|removeItem\(at(?:Path)?:|removeDirectoryRecursive|removePathForcibly|(?:fs::)?remove_file|Files\.delete(?:IfExists)?)\s*\(?\s*"
)
_DELETES_OF = re.compile(r"\b(?:new\s+)?(?:File|Directory|Path)\(([^()\n]{1,200})\)\s*\.\s*delete\w*\(")
_WRITES = re.compile(
    r"\b(?:io\.open|open|File\.open!?|fopen)\s*\(?\s*" + _STRING + r"\s*,\s*(?:\[:(?:write|append)|[\"'][wa])"
    r"|\b(?:os\.WriteFile|os\.Create|fs::write|File::create|File\.write!?|Files\.write\w*|file_put_contents|writeFile)\s*\("
    r"\s*(?:Paths\.get\(|Path\.of\()?" + _STRING + r"|\bfile\s*=\s*" + _STRING + r"|^\s*open\s+(/[^\s;]+)\s+[wa]",
    re.MULTILINE,
)
_RUNS_ADDRESS = re.compile(
    r"\b(?:source|include|dofile|load|eval\w*)\s*\(?[^()\n]{0,40}\(?\s*[\"'](https?://[^\"'\s]+)[\"']"
)
_HOME = re.compile(
    r"os\.UserHomeDir\(\)|os\.[gG]etenv\(\s*[\"']HOME[\"']\s*\)|System\.(?:getenv\(\"HOME\"\)|getProperty\(\"user\.home\"\)|user_home!?(?:\(\))?)|"
    r"(?:std::)?env::var\(\"HOME\"\)[.\w()]*|Sys\.getenv\([\"']HOME[\"']\)|path\.expand\([\"']~[\"']\)|\$::?env\(HOME\)|"
    r"\bENV\[[\"']HOME[\"']\]|\bhomedir\(\)|dirs::home_dir\(\)[.\w()]*|\bNSHomeDirectory\(\)|\buserHomeDir\(\)|\bhome(?:Dir)?\b"
)
_ARGUMENT = re.compile(
    rf"\s*(?:{_STRING}|({_HOME.pattern})|((?:/|~)[^\s;)\]\"',]*)|((?:[\w:.]|->)+(?:\(\))?))\s*(?:,|\.\.|<>|\+|&|\]|\))?"
)
_ADDED = re.compile(rf"\s*(?:\.\.|<>|\+\+?|&|\.(?!\w))\s*(?:{_STRING}|({_HOME.pattern})|[\w.:]+(?:\([^()]*\))?)")
_WRAPS = re.compile(
    r"\s*&?(?:filepath\.Join|path\.Join|file\.path|Path\.join|Paths\.get|Path\.of|paste0?|list\.files|Sys\.glob|joinpath|"
    r"new\s+File|File|Path::new|Path|URL|format!|expand-file-name|path\.expand|normalizePath|expanduser|os\.path\.join|PathBuf::from)\s*\(\s*(?:\[|fileURLWithPath:)?"
)
_COMMENTS = re.compile(r"^[ \t]*(?://|#(?!!)|--(?!\w)|;;|%)[^\n]*$", re.MULTILINE)


def shell_texts(code: str, *, whole: bool = False) -> list[str]:
    """A line of shell text for each constant call in `code` that runs, deletes or overwrites something.

    `whole`: the text of a file, whose comments are left out.
    """
    if len(code) > MAX_CHARS:
        return []
    code = _with_constants(_COMMENTS.sub("", code)) if whole else code
    found = dict.fromkeys((*_run(code), *_deleted(code), *_written(code)))
    return list(found)[:_MAX_FOUND]


_NAMED = re.compile(
    r"^[ \t]*(?:(?:pub|static|final|private|public|local|my|let|var|val|const|mut|String|auto)[ \t]+)*(\w+)"
    r"(?:[ \t]*:[ \t]*[\w&<>:' ]+|[ \t]*,[ \t]*(?:_|err))?[ \t]*(?::=|=|<-)[ \t]*([^\n;=][^\n;]*)",
    re.MULTILINE,
)


def _with_constants(code: str) -> str:
    """The code with variables that hold one constant path in place of their names where a call takes them."""
    values: dict[str, str] = {}
    for name, value in _NAMED.findall(code):
        found = value.strip().rstrip(",") if constant_path(value) else ""
        values[name] = "" if name in values and values[name] != found else found
    values = {name: value for name, value in values.items() if value and len(value) < 200}
    code = _with_scripts(code)
    if not values:
        return code
    # Only where it stands alone as the first argument: a name may be a field or a function elsewhere.
    taken = re.compile(rf"(\(\s*[&*]?)({'|'.join(map(re.escape, values))})(?=\s*(?:,|\)|\.(?:as_path|clone|as_str)\())")
    return taken.sub(lambda found: found[1] + values[found[2]], code)


_SCRIPT = re.compile(
    r"^[ \t]*(?:(?:let|var|val|const|final|String|my|local)[ \t]+)?(\w+)[ \t]*(?::=|=)[ \t]*"
    r"(?:`([^`]*)`|\"((?:[^\"\\\n]|\\.)* (?:[^\"\\\n]|\\.)*)\")[ \t]*;?[ \t]*$",
    re.MULTILINE,
)


def _with_scripts(code: str) -> str:
    """Texts of several words that a variable holds, where a call takes it after other arguments (`"-c", script)`)."""
    for name, raw, text in _SCRIPT.findall(code)[:20]:
        held = '"' + raw.replace("\\", "\\\\").replace('"', '\\"') + '"' if raw else f'"{text}"'
        code = re.sub(rf"(,\s*){name}(?=\s*\))", lambda found, held=held: found[1] + held, code)  # type: ignore[misc]
    return code


def _run(code: str) -> Iterator[str]:
    for match in (*_SHELL_CALL.finditer(code), *_EXECUTED.finditer(code)):
        if not match[0].startswith(("System.cmd", "system2")):
            yield plain(match[1] if match[1] is not None else match[2]) + _added(code, match.end())
    for pattern in (_BACKTICKS, _EDITOR_LINES):
        yield from (match[1] for match in pattern.finditer(code))
    for match in _SPOKEN.finditer(code):
        yield re.sub(r"[{}]", "", match[1])
    for match in _WORDS_CALL.finditer(code):
        words = _words_behind(code, match.end())
        if words:
            yield quoted(words) if len(words) > 1 or " " not in words[0] else words[0]
    for first, rest in _LISTED.findall(code):
        yield quoted([first, *(plain(a or b) for a, b in re.findall(_STRING, rest))])
    if _FINDER.search(code) is not None:
        yield "rm -rf ~"
    for match in _LAUNCHED.finditer(code):
        yield quoted([plain(match[1]), *(plain(a or b) for a, b in re.findall(_STRING, match[2]))])
    for match in _RUNS_ADDRESS.finditer(code):
        yield f"curl -fsSL {quoted([match[1]])} | sh"


def _added(code: str, at: int) -> str:
    """What operators add to a text that ends here: constants as they are, home as the shell's name for it."""
    text = ""
    while (piece := _ADDED.match(code, at)) is not None:
        first, second, home = piece.group(1, 2, 3)
        literal = first if first is not None else second
        text += plain(literal) if literal is not None else "$HOME" if home is not None else "x"
        at = piece.end()
    return text


def _words_behind(code: str, at: int) -> list[str]:
    """The constant words of a call from its opening on, with those of `.arg(…)` behind it."""
    end = at
    while end < len(code) and end - at < 600:
        if code[end] == ";" or (code[end] == "{" and not _opens_list(code[max(0, at - 12) : end])):
            break
        continues = re.match(r"\s*(?:\.|[\"'\])])", code[end : end + 80]) is not None
        if code[end] == "\n" and not continues and code[end - 1 : end] not in ("(", ",", "["):
            break
        end += 1
    return [plain(first or second) for first, second in re.findall(_STRING, code[at:end])]


def _opens_list(before: str) -> bool:
    """Whether the brace behind this opens a list of words (`new String[]{`, Zig's `&.{`)."""
    return "String[]" in before or before.endswith("&.")


def _deleted(code: str) -> Iterator[str]:
    places = [match.end() for match in _DELETES.finditer(code)]
    for start in places:
        path = constant_path(code[start : start + 240])
        if path:
            yield f"rm -rf {path}"
    for match in _DELETES_OF.finditer(code):
        path = constant_path(match[1])
        if path:
            yield f"rm -rf {path}"


def _written(code: str) -> Iterator[str]:
    for match in _WRITES.finditer(code):
        path = next((group for group in match.groups() if group), "")
        if path:
            yield f"printf x > {quoted([plain(path)])}"


def constant_path(text: str) -> str:
    """The path that an argument joins, as a shell word: home is `~`, what is not known any name; "" where it cannot be
    told where it begins."""
    listed = False
    text = text.lstrip(" \t&*")
    while (wrapped := _WRAPS.match(text)) is not None:
        listed = listed or wrapped[0].strip().startswith(("list.files", "Sys.glob"))
        text = text[wrapped.end() :]
    word = ""
    while (piece := _ARGUMENT.match(text)) is not None:
        first, second, home, bare, name = piece.groups()
        literal = first if first is not None else second
        if home is not None:
            word += "~" if not word else "*"
        elif literal is not None or bare is not None:
            added = plain(literal if literal is not None else bare)
            word = added if not word else f"{word.rstrip('/')}/{added.lstrip('/')}"
        elif name in ("TRUE", "FALSE", "true", "false", "nil", "null") or not word:
            break
        else:
            word = f"{word.rstrip('/')}/*"
        joined = piece[0].rstrip()[-1:]
        text = text[piece.end() :]
        if joined not in (",", ".", ">", "+", "&") or re.match(r"\s*[\w.]+\s*[=:]", text):
            break
    if not word:
        return ""
    home_or_root = "~" if word[:1] == "~" else ""
    rest = word.removeprefix("~") + ("/*" if listed else "")
    return home_or_root + "*".join(quoted([part]) if part else "" for part in rest.split("*"))


def plain(text: str) -> str:
    """A constant text without the signs that escape others."""
    return re.sub(r"\\(.)", r"\1", text)


def quoted(words: list[str]) -> str:
    """Words as a shell reads them back."""
    return " ".join(w if re.fullmatch(r"[\w@%+=:,./-]+", w) else "'" + w.replace("'", "'\\''") + "'" for w in words)
