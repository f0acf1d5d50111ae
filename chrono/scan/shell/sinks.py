"""Owns programs that run shell text hidden in an option, a script of their own or a variable.

Programs that start a program named in their arguments are left to `wrappers`. The program itself has been reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from chrono.scan.expression import expression
from chrono.scan.shell.machine import Inner
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.wrapper_options import Options, joined, operands

# Options whose value is run by a shell, or as a program with arguments.
_TEXT_OPTIONS: dict[str, tuple[str, ...]] = {
    "tar": ("-I", "--use-compress-program", "--to-command", "-F", "--info-script", "--new-volume-script",
            "--rsh-command"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "split": ("--filter",),
    "sort": ("--compress-program",),
    "man": ("-P", "--pager"),
    "nodemon": ("--exec", "-x"),
    "bazel": ("--run_under",),
    "npx": ("-c", "--call"),
    "chokidar": ("-c", "--command"),
    "tcpdump": ("-z",),
    "wget": ("--use-askpass",),
    "zip": ("-TT", "--unzip-command"),
    "scp": ("-S",),
    "sftp": ("-S",),
    "fzf": ("--preview",),
    "watchmedo": ("--command", "-c"),
    "ranger": ("--cmd",),
    "ncat": ("-c", "--sh-exec", "-e", "--exec"),
    "nc": ("-e", "-c"),
}  # fmt: skip

# Options behind which the rest of the line is a program with its arguments.
_REST_OPTIONS: dict[str, tuple[str, ...]] = {
    "xterm": ("-e",),
    "urxvt": ("-e",),
    "konsole": ("-e",),
    "alacritty": ("-e", "--command"),
    "kitty": ("-e",),
    "x-terminal-emulator": ("-e",),
    "gnome-terminal": ("--", "-x"),
    "lxc": ("--",),
    "incus": ("--",),
    "multipass": ("--",),
    "colima": ("--",),
    "wsl": ("-e", "--exec", "--"),
    "wsl.exe": ("-e", "--exec", "--"),
    "watchexec": ("--",),
    "watchmedo": ("--",),
    "guix": ("--",),
    "fab": ("--",),
    "cargo-watch": ("--",),
    "claude": ("--",),
    "codex": ("--",),
}

_REMOTE = frozenset(("fab", "lxc", "incus", "multipass", "colima", "wsl", "wsl.exe"))

# Programs of which every operand is a command line.
_OPERAND_TEXTS = frozenset(("concurrently", "start-server-and-test", "conc"))

# Variables whose value is run as a command by programs that see them.
_COMMAND_VARIABLES = frozenset(
    ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF",
     "GIT_ASKPASS", "GIT_PROXY_COMMAND", "PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN",
     "LESSCLOSE", "RSYNC_RSH", "PROMPT_COMMAND", "SSH_ASKPASS", "SUDO_ASKPASS", "CVS_RSH", "FCEDIT",
     "SYSTEMD_EDITOR", "SYSTEMD_PAGER", "KUBE_EDITOR", "HGEDITOR", "PSQL_PAGER", "PSQL_EDITOR",
     "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"),
)  # fmt: skip

_PROMPTS = frozenset(("PS0", "PS1", "PS2", "PS4", "PROMPT", "RPROMPT", "RPS1"))

SHELL_VARIABLES = _PROMPTS | {"PROMPT_COMMAND"}
"""Variables that the shell itself runs, so that they count without being exported."""


def hidden(name: str, argv: Argv, state: State) -> list[Inner]:
    """Shell text that `argv` hands to a shell in another way than as the program's own arguments."""
    out: list[Inner] = []
    own = _OWN.get(name)
    if own is not None:
        out += own(argv, state)
    options = _TEXT_OPTIONS.get(name)
    if options:
        out += [Inner(text=text, label=f"{name} {option}") for option, text in _values(argv, options)]
    rest = _REST_OPTIONS.get(name)
    if rest:
        at = next((at for at, word in enumerate(argv) if at and word in rest), len(argv))
        if at + 2 == len(argv) and " " in argv[at + 1]:
            out.append(Inner(text=argv[at + 1], label=f"{name} {argv[at]}"))
        elif at + 1 < len(argv):
            out.append(Inner(argv=argv[at + 1 :], label=f"{name} {argv[at]}", remote=name in _REMOTE,
                             cwd="\0" if name in _REMOTE else None))  # fmt: skip
    if name in _OPERAND_TEXTS:
        out += [Inner(text=word, label=name) for word in argv[1:] if " " in word and not word.startswith("-")]
    return [inner for inner in out if inner.argv or (inner.text and inner.text != "\0")]


def of_variables(assigns: tuple[tuple[str, str], ...]) -> list[Inner]:
    """Commands in variables that are set for one program (`GIT_SSH_COMMAND=… git fetch`), or for all that follow."""
    found = []
    for name, value in assigns:
        if name in _COMMAND_VARIABLES and value and "\0" not in value:
            found.append(Inner(text=value.lstrip("|"), label=name))
        elif name in _PROMPTS and ("$(" in value or "`" in value) and "\0" not in value:
            # A prompt is expanded each time it is shown, PS4 in front of each traced command.
            found.append(Inner(text=': "' + value.replace('"', '\\"') + '"', label=name))
    return found


def _values(argv: Argv, options: tuple[str, ...]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for at, word in enumerate(argv[1:], 1):
        if word == "--":
            break
        for option in options:
            if word == option and at + 1 < len(argv):
                found.append((option, argv[at + 1]))
            elif option.startswith("--") and word.startswith(option + "="):
                found.append((option, word[len(option) + 1 :]))
            elif len(option) == 2 and word.startswith(option) and len(word) > 2 and option[1] in "eIP":
                found.append((option, word[2:]))
    return found


_GIT_COMMAND_KEY = expression(
    r"(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)|sequence\.editor"
    r"|diff\.external|diff\..*\.(?:command|textconv)|pager\..*|gpg\.(?:.*\.)?program|interactive\.difffilter"
    r"|filter\..*\.(?:clean|smudge|process)|(?:merge|diff)tool\..*\.cmd|merge\..*\.driver|remote\..*\.(?:uploadpack"
    r"|receivepack|vcs)|uploadpack\.packobjectshook|credential\.(?:.*\.)?helper|trailer\..*\.c(?:om)?m(?:an)?d"
    r"|browser\..*\.cmd|web\.browser|instaweb\..*|sendemail\..*cmd)\Z"
)
_BOOLEAN = frozenset(("true", "false", "yes", "no", "on", "off", "0", "1", ""))


def _git(argv: Argv, state: State) -> list[Inner]:
    """`-c` keys that name commands, aliases used at once, and subcommands that run a command."""
    out: list[Inner] = []
    aliases: dict[str, str] = {}
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        word = argv[at]
        at += 1
        if word in ("-c", "--config-env") and at < len(argv):
            key, _, value = argv[at].partition("=")
            at += 1
            lowered = key.lower()
            if lowered.startswith("alias."):
                aliases[key[6:]] = value
            elif _GIT_COMMAND_KEY.match(lowered) and value.lower() not in _BOOLEAN:
                out.append(Inner(text=value.lstrip("!"), label=f"git -c {key}"))
        elif word in ("-C", "--git-dir", "--work-tree", "--namespace", "--exec-path"):
            at += 1
    rest = argv[at:]
    if rest and rest[0] in aliases:
        value = aliases[rest[0]]
        label = f"git -c alias.{rest[0]}"
        if value.startswith("!"):
            text = value[1:] + ' "$@"' if len(rest) > 1 else value[1:]
            out.append(Inner(text=text, args=rest, label=label))
        else:
            out.append(Inner(argv=("git", *value.split(), *rest[1:]), label=label))
    return out + _git_verb(rest)


def _git_verb(rest: Argv) -> list[Inner]:
    verb = rest[0] if rest else ""
    if verb == "rebase":
        return [Inner(text=text, label=f"git rebase {o}") for o, text in _values(rest, ("-x", "--exec"))]
    if verb == "difftool":
        return [Inner(text=text, label=f"git difftool {o}") for o, text in _values(rest, ("-x", "--extcmd"))]
    if verb == "config":
        return _git_config(rest)
    if verb == "bisect" and rest[1:2] == ("run",) and len(rest) > 2:
        return [Inner(argv=rest[2:], label="git bisect run")]
    if verb == "submodule" and "foreach" in rest:
        words = operands(rest[rest.index("foreach") :], Options())[0]
        return [Inner(text=joined(words), label="git submodule foreach", cwd="\0")] if words else []
    if verb == "filter-branch":
        return [
            Inner(text=rest[at + 1], label=f"git filter-branch {word}", cwd="\0")
            for at, word in enumerate(rest[:-1])
            if word.startswith("--") and word.endswith("-filter")
        ]
    if verb in ("clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule", "archive"):
        found = [Inner(text=text, label=f"git {verb} {o}") for o, text in
                 _values(rest, ("-u", "--upload-pack", "--receive-pack", "--exec"))
                 if (o != "-u" or verb == "clone")]  # fmt: skip
        return found + [
            Inner(text=word[5:].replace("% ", "\\ "), label=f"git {verb} ext::")
            for word in rest
            if word.startswith("ext::")
        ]
    return []


def _git_config(rest: Argv) -> list[Inner]:
    """A setting that names a command is judged as if git ran it at once: it will, at some later call."""
    words = operands(rest[1:] if rest[1:2] == ("set",) else rest, Options("f", frozenset(("--file", "--type"))))[0]
    if len(words) < 2:
        return []
    key, value = words[0].lower(), words[1]
    if key.startswith("alias.") and value.startswith("!"):
        return [Inner(text=value[1:], label=f"git config {words[0]}")]
    if key.startswith("alias."):
        return [Inner(argv=("git", *value.split()), label=f"git config {words[0]}")] if value.split() else []
    if _GIT_COMMAND_KEY.match(key) and value.lower() not in _BOOLEAN:
        return [Inner(text=value.lstrip("!"), label=f"git config {words[0]}")]
    return []


def _tar(argv: Argv, state: State) -> list[Inner]:
    return [
        Inner(text=text.removeprefix("exec="), label="tar --checkpoint-action")
        for _, text in _values(argv, ("--checkpoint-action",))
        if text.startswith("exec=")
    ]


_AWK_COMMAND = expression(
    r"system\s{0,9}\(\s{0,9}\"((?:[^\"\\]|\\.)*)\"|\"((?:[^\"\\]|\\.)*)\"\s{0,9}\|&?\s{0,9}getline"
    r"|\bprint[^|;}\n\"]{0,300}(?:\"(?:[^\"\\]|\\.)*\"[^|;}\n\"]{0,300}){0,9}\|&?\s{0,9}\"((?:[^\"\\]|\\.)*)\""
)


_AWK_TO_SHELL = expression(r"\bprint\s*\(?\s*\"((?:[^\"\\]|\\.)*)\"\s*\)?\s*\|&?\s*\"(?:/bin/)?(?:ba|da|z)?sh\"")
_AWK_WRITES = expression(r"\bprintf?\b([^|;}\n>]{0,300})>{1,2}\s*\"([^\"'\\]+)\"")
_NOTHING = '""'
_AWK_READS = expression(r"\"((?:[^\"\\]|\\.)*)\"\s{0,9}\|\s{0,9}getline")
_AWK_FEEDS_SHELL = expression(r"\|\s{0,9}\"(?:/bin/)?(?:ba|da|z)?sh\"")
_AWK_CONSTANT = expression(r"\b([A-Za-z_]\w*)\s*=\s*\"((?:[^\"\\]|\\.)*)\"")


def _awk(argv: Argv, state: State) -> list[Inner]:
    """Constant texts in `system("…")`, `"…" | getline` and `print | "…"`; a socket that commands come from."""
    out: list[Inner] = []
    rest, _ = operands(argv, Options("Fvf", frozenset(("--field-separator", "--assign", "--file"))))
    program = rest[0] if rest else ""
    if len(program) > 20_000:
        return []
    for name, value in _AWK_CONSTANT.findall(program):
        program = re.sub(rf"\b(system\s*\(\s*){name}(\s*\))", lambda m: f'{m[1]}"{value}"{m[2]}', program)  # noqa: B023
    for text in _AWK_TO_SHELL.findall(program):
        out.append(Inner(text=re.sub(r"\\(.)", r"\1", text), label="awk | sh"))
    for words, path in _AWK_WRITES.findall(program):
        out.append(Inner(text=f"printf '{'' if words.strip() == _NOTHING else 'x'}' > '{path}'", label="awk >"))
    fetched = _AWK_READS.search(program)
    if fetched is not None and _AWK_FEEDS_SHELL.search(program) is not None:
        out.append(Inner(text=f"{fetched[1]} | sh", label="awk | sh"))
    if "/inet" in program and "getline" in program:
        out.append(Inner(argv=("reverse-shell",), label="awk"))
    for match in _AWK_COMMAND.finditer(program):
        text = next(group for group in match.groups() if group is not None)
        behind = program[match.end() :].lstrip()
        unknown = match[1] is not None and not behind.startswith(")")
        text = re.sub(r"\\(.)", r"\1", text)
        out.append(Inner(text=text + "\0" if unknown else text, label="awk system" if match[1] else "awk |"))
    return out


_SED_EXECUTE = expression(r"(?:^|[;\n{])[ \t]*(?:\d{1,9}[ \t]*|\$[ \t]*|/[^/\n]{0,200}/[ \t]*)?e[ \t]+([^\n]+)")


_SED_WRITES = expression(
    r"(?:(?:^|[;\n{])[ \t]*(?:\d{1,9}|\$|/[^/\n]{0,200}/)?[ \t]*|/[gpI0-9]*)w[ \t]+([^\n'|;}]+)[ \t]*(?:$|[\n}])"
)
_SED_EVALUATES = expression(
    r"(?:^|[;\n{/0-9$])[ \t]*s([^\w\s\\])((?:\\.|(?!\1)[^\\]){0,2000})\1((?:\\.|(?!\1)[^\\]){0,2000})\1[gpiImM0-9]*e",
    re.DOTALL,
)


def _sed(argv: Argv, state: State) -> list[Inner]:
    """`e command`, and `s/…/command/e`, which runs the line as it is after the change; files that `w` writes."""
    out: list[Inner] = []
    for word in argv[1:]:
        if len(word) < 20_000:
            out += [Inner(text=match[1], label="sed e") for match in _SED_EXECUTE.finditer(word)]
            out += [Inner(text=f"printf x > '{match[1]}'", label="sed w") for match in _SED_WRITES.finditer(word)]
            out += [
                Inner(text=re.sub(r"\\[0-9]|&", "\0", match[3]), label="sed s///e")
                for match in _SED_EVALUATES.finditer(word)
            ]
    return out


def _pager(argv: Argv, state: State) -> list[Inner]:
    """`less +!command`."""
    return [Inner(text=word[2:], label="less !") for word in argv[1:] if word.startswith("+!")]


_CODE_OPTIONS = ("-e", "-E", "--eval", "-eval", "--execute", "-c", "--command")


def _foreign(argv: Argv, state: State) -> list[Inner]:
    """Code of a language that has no reader of its own: constant calls that run or delete something."""
    from chrono.scan.foreign import is_reverse_shell
    from chrono.scan.foreign_calls import shell_texts

    texts = [text for _, text in _values(argv, _CODE_OPTIONS)]
    if state.stdin is not None and not texts and _reads_stdin(argv):
        texts.append(state.stdin)
    name = argv[0].rpartition("/")[2]
    out: list[Inner] = []
    for code in texts:
        known = code.replace("\0", "")
        out += [Inner(text=text, label=f"{name} -e") for text in shell_texts(known)]
        if is_reverse_shell(known):
            out.append(Inner(argv=("reverse-shell",), label=f"{name} -e"))
    return out


def _reads_stdin(argv: Argv) -> bool:
    """Whether no file is named: `lua`, `lua -`, `Rscript - args`."""
    words = operands(argv, Options())[0]
    return not words or words[0] in ("-", "/dev/stdin")


_VIM_SHELL = expression(
    r"(?:^|[|\n])[ \t]*(?::[ \t:]*)?(?:sil(?:ent)?!?[ \t]+)?(?:exe(?:cute)?[ \t]+['\"])?"
    r"(?:[%.,$\d]{0,20}|(?:r(?:ead)?|w(?:rite)?)[ \t]+)!([^\n]+)"
)
_CALL = expression(r"(?:system(?:list)?|shell-command(?:-to-string)?|os\.execute|io\.popen)\s*"
                   r"(?:\(\s*)?([\"'])((?:[^\"'\\]|\\.)*)\1")  # fmt: skip


_EDITOR_DELETE = expression(r"\(delete-(?:directory|file)\s+\"([^\"]+)\"|\bcall\s+delete\(\s*['\"]([^'\"]+)['\"]")


_EX_CLUSTER = expression(r"-[esnRvE]{1,4}c")


def _editor(argv: Argv, state: State) -> list[Inner]:
    """`vim -c ':!…'`, `+'!…'`, `-c 'r !…'`, `system("…")`; `ex` and `ed` on standard input; `emacs --eval`."""
    out: list[Inner] = []
    scripts = [word for _, word in _values(argv, ("-c", "--cmd", "--eval", "-eval", "--execute"))]
    # `ex -sc 'text'`: c ends a cluster of letters that take no value.
    scripts += [word for before, word in pairwise(argv) if _EX_CLUSTER.fullmatch(before)]
    scripts += [word[1:] for word in argv[1:] if word.startswith("+")]
    name = argv[0].rpartition("/")[2]
    if name in ("ex", "ed") and state.stdin:
        scripts.append(state.stdin)
    for script in scripts:
        if len(script) > 20_000:
            continue
        out += [Inner(text=m[1].strip(), label=f"{name} !") for m in _VIM_SHELL.finditer(script)]
        out += [Inner(text=re.sub(r"\\(.)", r"\1", m[2]), label=f"{name} system") for m in _CALL.finditer(script)]
        out += [
            Inner(argv=("rm", "-rf", m[1] or m[2]), label=f"{name} delete") for m in _EDITOR_DELETE.finditer(script)
        ]
    return out


_APPLE_SCRIPT = expression(
    r"\b(?:do shell script|do script|write text|(?:default profile )?command|doShellScript)\s*\(?\s*"
    r"\"((?:[^\"\\]|\\.)*)\"",
    re.IGNORECASE,
)
_APPLE_CALL = expression(r"\bdoShellScript\s*\(\s*'((?:[^'\\]|\\.)*)'")


def _osascript(argv: Argv, state: State) -> list[Inner]:
    """What a script of the Mac's hands to a shell or types into a terminal."""
    scripts = [word for _, word in _values(argv, ("-e",))]
    if not scripts and state.stdin is not None and _reads_stdin(argv):
        scripts.append(state.stdin)
    return [
        Inner(text=re.sub(r"\\(.)", r"\1", match[1]), label="osascript", stdin="")
        for word in scripts
        if len(word) < 20_000
        for pattern in (_APPLE_SCRIPT, _APPLE_CALL)
        for match in pattern.finditer(word)
    ]


_META = expression(r"^[ \t]*(?:\\!|\.(?:shell|system)[ \t]|system[ \t]|!)[ \t]*(\S.*)$", re.MULTILINE)


def _database(argv: Argv, state: State) -> list[Inner]:
    r"""`\! cmd` of psql and mysql, `.shell cmd` of sqlite3: in arguments and on standard input."""
    texts = [word for word in argv[1:] if "\\!" in word or word.lstrip().startswith((".shell", ".system"))]
    if state.stdin is not None and len(state.stdin) < 100_000:
        texts.append(state.stdin)
    name = argv[0].rpartition("/")[2]
    return [Inner(text=m[1], label=f"{name} shell", stdin="") for text in texts for m in _META.finditer(text)]


def _at(argv: Argv, state: State) -> list[Inner]:
    listing = any(word in ("-l", "-r", "-d", "-c", "-q") for word in argv[1:])
    return [Inner(text=state.stdin, label="at", stdin="")] if state.stdin and not listing else []


_CRON_LINE = expression(r"^[ \t\0]*(?:@\w+|(?:[\d*/,A-Za-z-]+[ \t]+){4}[\d*/,A-Za-z-]+)[ \t]+(\S.*)$", re.MULTILINE)


def _crontab(argv: Argv, state: State) -> list[Inner]:
    """The commands of a table that is read from standard input."""
    reads = len(argv) == 1 or argv[-1] in ("-", "/dev/stdin")
    if not reads or not state.stdin or len(state.stdin) > 100_000:
        return []
    return [Inner(text=match[1], label="crontab", stdin="") for match in _CRON_LINE.finditer(state.stdin)]


def _socat(argv: Argv, state: State) -> list[Inner]:
    out = []
    for word in argv[1:]:
        kind, _, text = word.partition(":")
        if kind.upper() in ("EXEC", "SYSTEM", "SHELL") and text:
            out.append(Inner(text=text.split(",")[0], label=f"socat {kind}"))
    return out


_SPAWN = expression(r"\b(?:spawn|exec|system)\s+([^;\n\]]+)")


def _expect(argv: Argv, state: State) -> list[Inner]:
    scripts = [word for _, word in _values(argv, ("-c",))]
    if len(argv) == 1 and state.stdin:
        scripts.append(state.stdin)
    return [
        Inner(text=match[1], label="expect", stdin="")
        for script in scripts
        if len(script) < 20_000
        for match in _SPAWN.finditer(script)
    ]


def _gdb(argv: Argv, state: State) -> list[Inner]:
    return [
        Inner(text=match[1], label="gdb shell")
        for _, word in _values(argv, ("-ex", "--ex", "--eval-command", "-iex"))
        if (match := re.match(r"\s*(?:shell|!|make)\s*(.+)", word))
    ]


def _ansible(argv: Argv, state: State) -> list[Inner]:
    module = next((value for _, value in _values(argv, ("-m", "--module-name"))), "command")
    if module.rpartition(".")[2] not in ("shell", "command", "raw", "script"):
        return []
    return [Inner(text=text, label="ansible", remote=True) for _, text in _values(argv, ("-a", "--args"))]


def _ip(argv: Argv, state: State) -> list[Inner]:
    """`ip netns exec name cmd`."""
    if "netns" not in argv or "exec" not in argv:
        return []
    at = argv.index("exec")
    return [Inner(argv=argv[at + 2 :], label="ip netns exec")] if len(argv) > at + 2 else []


def _adb(argv: Argv, state: State) -> list[Inner]:
    if "shell" not in argv[1:]:
        return []
    words = argv[argv.index("shell") + 1 :]
    return [Inner(text=joined(words), label="adb shell", remote=True, cwd="\0")] if words else []


def _remote_command(argv: Argv, state: State) -> list[Inner]:
    """`vagrant ssh -c`, `gcloud compute ssh --command`, `fly ssh console -C`, `heroku run`."""
    name = argv[0].rpartition("/")[2]
    out = [
        Inner(text=text, label=f"{name} ssh", remote=True, cwd="\0")
        for _, text in _values(argv, ("-c", "--command", "-C"))
        if "ssh" in argv
    ]
    if name == "heroku" and argv[1:2] in (("run",), ("run:detached",)):
        words = operands(argv[1:], Options("astre", frozenset(("--app", "--size", "--type", "--remote", "--env"))))[0]
        out += [Inner(text=joined(words), label="heroku run", remote=True, cwd="\0")] if words else []
    return out


def _npm(argv: Argv, state: State) -> list[Inner]:
    """`npm exec -c "text"`; a script that is set is judged as if it ran: it is there to be run."""
    if argv[1:3] == ("pkg", "set"):
        return [
            Inner(text=word.partition("=")[2], label=f"npm pkg set {word.partition('=')[0]}")
            for word in argv[3:]
            if word.startswith("scripts.") and "=" in word
        ]
    if argv[1:2] in (("set-script",), ("ss",)):
        return [Inner(text=argv[3], label=f"npm set-script {argv[2]}")] if len(argv) > 3 else []
    if argv[1:2] not in (("exec",), ("x",)):
        return []
    return [Inner(text=text, label="npm exec") for _, text in _values(argv, ("-c", "--call"))]


def _maven(argv: Argv, state: State) -> list[Inner]:
    """`mvn exec:exec -Dexec.executable=sh -Dexec.args='-c "…"'`."""
    values = dict(word[2:].partition("=")[::2] for word in argv[1:] if word.startswith("-Dexec."))
    program = values.get("exec.executable", "")
    return [Inner(text=f"{program} {values.get('exec.args', '')}", label="mvn exec")] if program else []


_CARGO_PROGRAM = expression(
    r"(?:^|[.\s])(?:runner|linker|rustc|rustc-wrapper|rustc-workspace-wrapper)\s*=\s*(['\"])(.+?)\1\s*$"
)


def _cargo(argv: Argv, state: State) -> list[Inner]:
    if argv[1:2] != ("watch",):
        configured = [text for _, text in _values(argv, ("--config",))]
        return [Inner(text=match[2], label="cargo --config") for text in configured
                for match in _CARGO_PROGRAM.finditer(text)]  # fmt: skip
    return [Inner(text=text, label="cargo watch") for _, text in _values(argv, ("-s", "--shell"))]


_OWN: dict[str, Callable[[Argv, State], list[Inner]]] = {
    "git": _git,
    "tar": _tar,
    "gtar": _tar,
    "bsdtar": _tar,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "sed": _sed,
    "gsed": _sed,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "view": _editor,
    "vimdiff": _editor,
    "ex": _editor,
    "less": _pager,
    "more": _pager,
    **dict.fromkeys(
        "lua luajit lua5.1 lua5.3 lua5.4 tclsh tclsh8.6 wish R Rscript julia groovy elixir iex erl escript guile "
        "racket sbcl scala jshell ghc octave swift crystal nim raku kotlin clojure bb".split(),
        _foreign,
    ),
    "ed": _editor,
    "emacs": _editor,
    "emacsclient": _editor,
    "osascript": _osascript,
    "psql": _database,
    "mysql": _database,
    "mariadb": _database,
    "sqlite3": _database,
    **dict.fromkeys(("ftp", "sftp", "lftp", "smbclient", "telnet"), _database),
    "at": _at,
    "batch": _at,
    "crontab": _crontab,
    "socat": _socat,
    "expect": _expect,
    "gdb": _gdb,
    "ansible": _ansible,
    "ip": _ip,
    "adb": _adb,
    "vagrant": _remote_command,
    "gcloud": _remote_command,
    "fly": _remote_command,
    "flyctl": _remote_command,
    "heroku": _remote_command,
    "cargo": _cargo,
    "npm": _npm,
    **dict.fromkeys(("mvn", "mvnw", "mvnd"), _maven),
}
HANDING_ON = _OWN.keys() | _TEXT_OPTIONS.keys() | _REST_OPTIONS.keys() | _OPERAND_TEXTS
"""Programs that `hidden` knows."""
