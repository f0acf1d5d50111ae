"""Owns what package managers run: scripts of package.json, deno.json and composer.json with their hooks.

Reading package.json is left to `manifest`, interpreters to `scripts`, `run` wrappers to `runners`; what a script's text
does to the shell evaluator.
"""

from __future__ import annotations

import os

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.manifest import Package, json_object, read_package
from chrono.scan.follow.runners import from_runner, skip_options, unversioned
from chrono.scan.follow.scene import File, Scene, Started, mapping

Answers = list[Started | Refusal]

_INSTALL = ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare")
_LIFECYCLES = {
    "install": _INSTALL,
    "pack": ("prepack", "prepare", "postpack"),
    "publish": ("prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish"),
    "version": ("preversion", "version", "postversion"),
    "uninstall": (),
}
_NPM_VERBS = {
    "i": "install", "in": "install", "ins": "install", "inst": "install", "add": "install", "ci": "install",
    "clean-install": "install", "ic": "install", "install-test": "install", "it": "install", "rebuild": "install",
    "rb": "install", "install": "install", "pack": "pack", "publish": "publish", "version": "version",
    "verison": "version", "link": "install",
}  # fmt: skip
_NPM_RUN = frozenset(("run", "run-script", "rum", "urn"))
_NPM_SHORT = {
    "test": "test",
    "t": "test",
    "tst": "test",
    "start": "start",
    "stop": "stop",
    "restart": "restart",
}
_YARN_OWN = frozenset(
    [
        "add",
        "audit",
        "autoclean",
        "bin",
        "cache",
        "check",
        "config",
        "create",
        "dedupe",
        "dlx",
        "exec",
        "generate-lock-entry",
        "global",
        "help",
        "import",
        "info",
        "init",
        "licenses",
        "link",
        "list",
        "login",
        "logout",
        "node",
        "npm",
        "outdated",
        "owner",
        "patch",
        "plugin",
        "policies",
        "rebuild",
        "remove",
        "self-update",
        "set",
        "tag",
        "team",
        "unlink",
        "unplug",
        "up",
        "upgrade",
        "upgrade-interactive",
        "versions",
        "why",
        "store",
        "prune",
        "fetch",
        "root",
        "env",
        "server",
        "update",
        "un",
        "rm",
        "ls",
        "x",
        "pm",
        "repl",
    ]
)
_FOLDER_OPTIONS = frozenset(("--prefix", "-C", "--cwd", "--dir"))
_VALUE_OPTIONS = frozenset(
    ("--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "-F", "--filter", "--loglevel", "--userconfig",
     "--registry", "--cache", "--config", "-c", "--tag", "--otp", "--use-yarnrc", "--modules-folder", "--script-shell",
     "--include", "--omit", "--reporter", "--env-file", "--store-dir", "--access", "--exclude", "--log-order",
     "--workspace-concurrency", "--network-timeout", "--cache-folder", "--global-folder", "--mutex", "--jobs", "-j")
)  # fmt: skip


def from_package_manager(scene: Scene) -> Answers:
    """What npm, yarn, pnpm, bun, deno, composer and the `run` wrappers of Python's tools start."""
    answers = from_runner(scene)
    if answers is not None:
        return answers
    if scene.program in ("npm", "pnpm", "yarn", "yarnpkg", "bun", "cnpm", "ni", "nr"):
        return _from_npm_like(scene)
    if scene.program in ("run-s", "run-p", "npm-run-all", "npm-run-all2", "concurrently", "wireit"):
        return _from_many(scene)
    if scene.program in _MONOREPOS:
        return _from_monorepo(scene)
    if scene.program in ("deno", "composer"):
        return _from_other_manifest(scene)
    if scene.program in ("npx", "bunx", "pnpx") or scene.program == "node":
        return _from_npx(scene)
    if scene.program.rstrip("0123456789.") in ("pip", "pip") or scene.program == "uv":
        return _from_pip(scene)
    return []


# --- npm and its like -------------------------------------------------------------------------------------------------


def _from_npm_like(scene: Scene) -> Answers:
    words, chosen, cwd, everywhere = _npm_words(scene)
    if scene.program == "npm" and _asks_npm(scene.args):
        return []
    if any(word == "--ignore-scripts" for word in scene.args) and words[:1] not in [("run",), ("test",)]:
        return []
    packages, refusals = _packages(scene, cwd, chosen, everywhere, words)
    answers: Answers = list(refusals)
    for package in packages:
        answers += _npm_scripts(scene, package, words)
    return answers


def _asks_npm(args: tuple[Word, ...]) -> bool:
    """Whether npm itself is asked how it is used; behind `--` the script is."""
    own = args[: args.index("--")] if "--" in args else args
    return any(word in ("--help", "-h", "-?") for word in own)


def _npm_words(scene: Scene) -> tuple[tuple[Word, ...], tuple[str, ...], str, bool]:
    """Operands (with all that follows the script's name), chosen workspaces, folder, and whether all are meant."""
    words: list[Word] = []
    chosen: list[str] = []
    cwd = scene.cwd
    everywhere = False
    at = 0
    while at < len(scene.args):
        word = scene.args[at]
        at += 1
        if not isinstance(word, str) or not word.startswith("-"):
            words.append(word)
            continue
        if word == "--":
            words.extend(scene.args[at:])
            break
        name, equals, value = word.partition("=")
        given: Word = value
        if not equals and name in _VALUE_OPTIONS and at < len(scene.args):
            given = scene.args[at]
            at += 1
        if name in _FOLDER_OPTIONS and isinstance(given, str):
            cwd = os.path.normpath(os.path.join(cwd, given))
        elif name in ("-w", "--workspace", "-F", "--filter") and isinstance(given, str):
            if name == "-w" and scene.program == "pnpm":
                words.append(given)
            else:
                chosen.append(given)
        elif name in ("-r", "--recursive", "-ws", "--workspaces"):
            everywhere = True
        elif len(words) >= 2 and scene.program != "npm":
            words.append(word)
    if words[:1] == ["workspace"] and len(words) > 1 and isinstance(words[1], str):
        chosen.append(words[1])
        words = words[2:]
    elif words[:1] == ["workspaces"]:
        everywhere = True
        words = [w for w in words[1:] if w != "foreach" and not str(w).startswith("-")]
    return tuple(words), tuple(chosen), cwd, everywhere


def _packages(
    scene: Scene, cwd: str, chosen: tuple[str, ...], everywhere: bool, words: tuple[Word, ...]
) -> tuple[list[Package], list[Refusal]]:
    # `npm --prefix` means that folder only.
    elsewhere = cwd != scene.cwd and scene.program == "npm"
    root = read_package(scene, cwd) if elsewhere else _nearest(scene, cwd)
    if root is None or isinstance(root, Refusal):
        return [], [root] if isinstance(root, Refusal) else []
    if not chosen and not everywhere:
        installs = not words or _NPM_VERBS.get(str(words[0])) == "install"
        # An install at the root also runs the lifecycle scripts of the workspaces.
        return [root, *(_members(scene, root) if installs and root.workspaces else ())], []
    members = _members(scene, root)
    if everywhere:
        return [root, *members], []
    picked = []
    for package in members:
        relative = os.path.relpath(package.folder, root.folder)
        for name in chosen:
            bare = name.strip("./{}").rstrip("/") if name.startswith(("./", "{")) else name.strip(".").rstrip("/")
            if bare in (package.name, relative, os.path.basename(relative)) or "*" in bare or "[" in bare:
                picked.append(package)
                break
    return picked, []


def _nearest(scene: Scene, folder: str) -> Package | Refusal | None:
    """The package.json in `folder` or above it, as npm looks for it."""
    for _ in range(24):
        found = read_package(scene, folder)
        if found is not None:
            return found
        parent = os.path.dirname(folder)
        if parent == folder or folder == scene.world.home:
            return None
        folder = parent
    return None


def _members(scene: Scene, root: Package) -> list[Package]:
    globs = list(root.workspaces)
    file = scene.read(os.path.join(root.folder, "pnpm-workspace.yaml"))
    if file is not None and not isinstance(file, Refusal):
        # Only its list of globs is needed: lines `  - 'packages/*'`.
        lines = [line.strip() for line in file.text.splitlines()[:200]]
        globs += [line[1:].strip().strip("'\"") for line in lines if line.startswith("-")]
    folders: list[str] = []
    for glob in globs[:32]:
        if glob.startswith("!"):
            continue
        base, star, _ = glob.strip("/").partition("*")
        parent = os.path.normpath(os.path.join(root.folder, base if not star else base.rpartition("/")[0]))
        if not star:
            folders.append(parent)
            continue
        folders += [os.path.join(parent, name) for name in (scene.world.listdir(parent) or ())[:200]]
    members = []
    for folder in folders[:200]:
        if scene.world.lstat(os.path.join(folder, "package.json")) is not None:
            package = read_package(scene, folder)
            if isinstance(package, Package):
                members.append(package)
    return members


def _npm_scripts(scene: Scene, package: Package, words: tuple[Word, ...]) -> Answers:
    """The scripts that `words` run in one package, with their pre and post hooks, in order."""
    verb = words[0] if words else ""
    if not isinstance(verb, str):
        return []
    if not words:
        return _hooked(scene, package, _INSTALL, ()) if scene.program in ("yarn", "yarnpkg", "ni") else []
    if verb in _NPM_RUN or scene.program == "nr":
        operands = words if scene.program == "nr" else words[1:]
        name = operands[0] if operands else None
        return _run_script(scene, package, name, operands[1:]) if isinstance(name, str) else []
    if verb in _NPM_SHORT and not (scene.program == "bun" and verb == "test"):
        name = _NPM_SHORT[verb]
        if name == "restart" and name not in package.scripts:
            return _run_script(scene, package, "stop", ()) + _run_script(scene, package, "start", words[1:])
        if name == "start" and name not in package.scripts and scene.program in ("npm", "pnpm"):
            return [scene.start('node server.js "$@"', "sh", "npm start", args=words[1:], cwd=package.folder)]
        return _run_script(scene, package, name, words[1:])
    lifecycle = _NPM_VERBS.get(verb)
    if lifecycle and (scene.program != "yarn" or verb in ("install", "publish", "pack", "version")):
        named = [w for w in words[1:] if not (isinstance(w, str) and w.startswith("-"))]
        if lifecycle == "install" and named and verb not in ("rebuild", "rb"):
            return []
        answers = _hooked(scene, package, _LIFECYCLES[lifecycle], ())
        return answers + (_run_script(scene, package, "test", ()) if verb in ("install-test", "it") else [])
    if scene.program == "bun" and verb == "test":
        return []  # bun's own runner, whatever the script of that name says
    if scene.program in ("yarn", "yarnpkg", "pnpm", "bun") and verb not in _YARN_OWN:
        if verb not in package.scripts:
            return [scene.hand_on(words, f"{scene.program} {verb}")]  # a program of a dependency
        return _run_script(scene, package, verb, words[1:])
    return []


def _run_script(scene: Scene, package: Package, name: str, args: tuple[Word, ...]) -> Answers:
    if scene.program == "pnpm" and name.startswith("/") and name.endswith("/"):
        return _hooked(scene, package, tuple(n for n in package.scripts if name.strip("/").strip("^$") in n), args)
    if name not in package.scripts:
        return []
    if package.scripts[name].strip() == "wireit":
        return _of_wireit(scene, package, name)
    return _hooked(scene, package, ("pre" + name, name, "post" + name), args, only_for=name)


def _of_wireit(scene: Scene, package: Package, goal: str) -> Answers:
    """What wireit runs for a script: its command and those of what it depends on."""
    file = scene.read(os.path.join(package.folder, "package.json"))
    table = mapping(json_object(file.text).get("wireit")) if isinstance(file, File) else {}
    answers: Answers = []
    for name in _with_dependencies(table, (goal,)):
        text = mapping(table.get(name)).get("command")
        if isinstance(text, str):
            answers.append(scene.start(text, "sh", f"package.json:wireit.{name}", cwd=package.folder))
    return answers


def _hooked(
    scene: Scene,
    package: Package,
    names: tuple[str, ...],
    args: tuple[Word, ...],
    only_for: str | None = None,
) -> Answers:
    answers: Answers = []
    for name in names:
        text = package.scripts.get(name)
        if text is None:
            continue
        own = args if name == only_for or only_for is None else ()
        shown = scene.shown(os.path.join(package.folder, "package.json"))
        env = (*package.env, ("npm_lifecycle_event", name))
        text = f'{text} "$@"' if own else text
        answers.append(scene.start(text, "sh", f"{shown}:scripts.{name}", args=own, cwd=package.folder, env=env))
    return answers


def _from_many(scene: Scene) -> Answers:
    """`run-s clean build:*`, `concurrently "npm:watch" "echo x"`."""
    package = _nearest(scene, scene.cwd)
    if not isinstance(package, Package):
        return [package] if isinstance(package, Refusal) else []
    answers: Answers = []
    for word in scene.args[:64]:
        if not isinstance(word, str) or word.startswith("-"):
            continue
        if scene.program == "concurrently":
            if word.startswith("npm:"):
                word = word[4:]
            else:
                answers.append(scene.start(word, "sh", "concurrently", cwd=package.folder))
                continue
        name = word.split(" ", 1)[0]
        for script in package.scripts:
            if script == name or ("*" in name and script.startswith(name.split("*", 1)[0])):
                answers += _run_script(scene, package, script, ())
    return answers


def _from_other_manifest(scene: Scene) -> Answers:
    """`deno task NAME` and `composer NAME`."""
    args, cwd = skip_options(scene, scene.args, frozenset(("--cwd", "-c", "--config", "-d", "--working-dir")))
    verb = args[0] if args else None
    if not isinstance(verb, str):
        return []
    if scene.program == "deno":
        name = args[1] if verb == "task" and len(args) > 1 else None
        manifests: tuple[str, ...] = ("deno.json", "deno.jsonc", "package.json")
        table, link, rest = "tasks", "tasks", args[2:]
    else:
        running = verb in ("run-script", "run")
        name = (args[1] if len(args) > 1 else None) if running else verb
        manifests, table, link, rest = (
            ("composer.json",),
            "scripts",
            "scripts",
            args[2:] if running else args[1:],
        )
    if not isinstance(name, str):
        return []
    names: tuple[str, ...] = (name,)
    if scene.program == "composer" and name in ("install", "update", "require", "dump-autoload"):
        event = "update" if name in ("update", "require") else name
        names = (f"pre-{event}-cmd", f"post-{event}-cmd", "pre-autoload-dump", "post-autoload-dump")
    answers: Answers = []
    for manifest in manifests:
        file = scene.read(os.path.join(cwd, manifest))
        if isinstance(file, Refusal):
            answers.append(file)
        if file is None or isinstance(file, Refusal):
            continue
        entries = mapping(json_object(file.text).get("scripts" if manifest == "package.json" else table))
        for wanted in _with_dependencies(entries, names):
            for text in _texts(entries.get(wanted)):
                # composer's `@php x` and `@other`: the first is the program, the second another script.
                text = text[1:] if text.startswith("@php ") else text
                text = (
                    f"composer run-script {text[1:]}" if text.startswith("@") and scene.program == "composer" else text
                )
                answers.append(scene.start(f'{text} "$@"', "sh", f"{manifest}:{link}.{wanted}", args=rest, cwd=cwd))
            for name in _callbacks(entries.get(wanted)) if manifest == "composer.json" else ():
                answers += _of_callback(scene, cwd, json_object(file.text), name)
    return answers


def _with_dependencies(tasks: dict[str, object], names: tuple[str, ...]) -> list[str]:
    """Tasks with those that a deno task depends on, those first."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting and len(found) < 50:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            needs = mapping(tasks.get(name)).get("dependencies")
            waiting += [need for need in needs if isinstance(need, str)] if isinstance(needs, list) else []
    return list(reversed(found))


def _callbacks(value: object) -> list[str]:
    """Methods of the project's own classes among a script's entries (`App\\Installer::run`)."""
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str) and "::" in v]


def _of_callback(scene: Scene, cwd: str, document: dict[str, object], name: str) -> Answers:
    """The file that composer loads a callback's class from, with a call of the method behind it."""
    spaces = mapping(mapping(document.get("autoload")).get("psr-4"))
    for space, folder in spaces.items():
        if name.startswith(space) and isinstance(folder, str):
            place = name.partition("::")[0].removeprefix(space).replace("\\", "/")
            file = scene.read(os.path.join(cwd, folder, f"{place}.php"))
            if isinstance(file, File):
                method = f"{place.rpartition('/')[2]}::{name.partition('::')[2]}"
                text = f"{file.text}\n{method}(null);\n"
                return [scene.start(text, "php", scene.shown(file.path), file=file, cwd=cwd)]
    return []


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        value = value.get("command")
    if isinstance(value, list):
        return [v for v in value if isinstance(v, str) and "::" not in v]
    return [value] if isinstance(value, str) and "::" not in value else []


def _from_npx(scene: Scene) -> Answers:
    """`npx -c TEXT`, and `npx tsx x.ts`, `node --run NAME` which are other spellings of what is followed elsewhere."""
    args = scene.args
    if scene.program == "node":
        for at, word in enumerate(args):
            name, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
            if name == "--run":
                package = _nearest(scene, scene.cwd)
                script = value if equals else args[at + 1] if at + 1 < len(args) else None
                if isinstance(package, Package) and isinstance(script, str):
                    return _hooked(scene, package, (script,), args[at + 2 :])
        return []
    for at, word in enumerate(args):
        if word in ("-c", "--call") and at + 1 < len(args):
            text = args[at + 1]
            return [scene.start(text, "sh", f"{scene.program} -c")] if isinstance(text, str) else []
    inner, cwd = skip_options(scene, args, frozenset(("-p", "--package")))
    own = _own_program(scene, cwd, inner)
    if own:
        return own
    return [scene.hand_on((unversioned(inner[0]), *inner[1:]), scene.program, cwd)] if inner else []


def _own_program(scene: Scene, cwd: str, inner: tuple[Word, ...]) -> Answers:
    """The program of this name that the package itself brings (`bin` of its package.json)."""
    from chrono.scan.follow.scripts import run_file

    file = scene.read(os.path.join(cwd, "package.json")) if inner else None
    document = json_object(file.text) if isinstance(file, File) else {}
    entry = document.get("bin")
    path = entry if isinstance(entry, str) and document.get("name") == inner[0] else mapping(entry).get(str(inner[0]))
    return run_file(scene, os.path.join(cwd, path), "javascript", inner[1:]) if isinstance(path, str) else []


_MONOREPOS = frozenset(("turbo", "lerna", "nx", "moon", "rush", "ultra"))
_MONOREPO_VERBS = frozenset(("run", "run-many", "affected", "exec", "watch"))


def _from_monorepo(scene: Scene) -> Answers:
    """`turbo run build`, `lerna run build`, `nx run app:build`: scripts of that name in all packages."""
    words = [word for word in scene.args if isinstance(word, str) and not word.startswith("-")]
    names = [word for word in words if word not in _MONOREPO_VERBS]
    names += [word.rpartition("=")[2] for word in map(str, scene.args) if word.startswith(("--target", "--targets"))]
    names = [part for word in names for part in word.split(":")[-1].split(",")]
    root = _nearest(scene, scene.cwd)
    if not isinstance(root, Package):
        return []
    root = root._replace(workspaces=(*root.workspaces, "packages/*", "apps/*", "libs/*"))
    found = {package.folder: package for package in (root, *_members(scene, root))}
    return [
        answer for package in found.values() for name in names[:8] for answer in _run_script(scene, package, name, ())
    ]


def _from_pip(scene: Scene) -> Answers:
    """`pip install .` and `-e .` run the project's own setup.py, or the hook that it builds with."""
    args = scene.args[1:] if scene.program == "uv" and scene.args[:1] == ("pip",) else scene.args
    if args[:1] not in (("install",), ("wheel",)):
        return []
    for at, word in enumerate(args[1:], 1):
        if not isinstance(word, str):
            continue
        local = word if word in (".", "..") or word.startswith(("./", "../", "/", ".[")) else None
        if word in ("-e", "--editable") and at + 1 < len(args):
            following = args[at + 1]
            local = following if isinstance(following, str) and "://" not in following else None
        path = scene.path(local.split("[", 1)[0]) if local else None
        answers: Answers = []
        for name in ("setup.py", "hatch_build.py") if path else ():
            file = scene.read(os.path.join(path or "", name))
            if isinstance(file, Refusal):
                return [file]
            if file is not None:
                started = scene.start(file.text, "python", scene.shown(file.path), file=file, cwd=path)
                answers.append(started._replace(called=True))
        if answers:
            return answers
    return []
