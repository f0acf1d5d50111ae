"""Owns what `just` starts: recipes with their dependencies, parameters and variables, as shell text.

Makefiles are left to `makefile` and `make`; what the recipes do to the shell evaluator.
"""

from __future__ import annotations

import os

from chrono.scan.command import Pattern, Refusal, Word
from chrono.scan.follow.programs import program_name
from chrono.scan.follow.scene import File, Scene, Started
from chrono.scan.follow.scripts import language_of_first_line, language_of_program
from chrono.tuples import NamedTuple

MAX_RECIPES = 200
_VALUE_OPTIONS = frozenset(
    ("-f", "--justfile", "-d", "--working-directory", "--shell", "--shell-arg", "--color", "--dotenv-path", "-E",
     "--dotenv-filename", "--chooser", "--dump-format", "--list-heading", "--list-prefix", "--timestamp-format")
)  # fmt: skip
_NO_RECIPES = frozenset(
    ("-n", "--dry-run", "-l", "--list", "--summary", "--show", "-s", "--dump", "--evaluate", "--fmt", "--init",
     "--variables", "-V", "--version", "-h", "--help", "-e", "--edit", "--completions", "--groups", "--man")
)  # fmt: skip

Answers = list[Started | Refusal]


class Recipe(NamedTuple):
    """`parameters` are (name, default or None, variadic); `needs` are (recipe, argument expressions)."""

    name: str
    parameters: tuple[tuple[str, str | None, bool], ...]
    needs: tuple[tuple[str, tuple[str, ...]], ...]
    after: tuple[tuple[str, tuple[str, ...]], ...]
    body: tuple[str, ...]


class Justfile(NamedTuple):
    recipes: dict[str, Recipe]
    variables: dict[str, str]
    aliases: dict[str, str]
    shell: str
    first: str | None
    imports: tuple[str, ...] = ()
    modules: tuple[tuple[str, str], ...] = ()


def from_just(scene: Scene) -> Answers:
    """The recipes that a `just` command line runs."""
    cwd = scene.cwd
    path: str | None = None
    words: list[Word] = []
    overrides: dict[str, Word] = {}
    at = 0
    while at < len(scene.args):
        word = scene.args[at]
        at += 1
        if not isinstance(word, str):
            words.append(word)
        elif not words and word in _NO_RECIPES:
            return []
        elif not words and word.startswith("-") and len(word) > 1:
            name, equals, value = word.partition("=")
            given: Word = value
            if not equals and name in _VALUE_OPTIONS and at < len(scene.args):
                given = scene.args[at]
                at += 1
            elif name == "--set" and at + 1 < len(scene.args):
                overrides[str(scene.args[at])] = scene.args[at + 1]
                at += 2
            if name in ("-f", "--justfile"):
                path = scene.path(given)
            elif name in ("-d", "--working-directory"):
                cwd = scene.path(given) or cwd
        elif not words and "=" in word and word.partition("=")[0].isidentifier():
            overrides[word.partition("=")[0]] = word.partition("=")[2]
        else:
            words.append(word)
    file = scene.read(path) if path else _find(scene, cwd)
    if not isinstance(file, File):
        return [file] if isinstance(file, Refusal) else []
    if path is None or cwd == scene.cwd:
        cwd = os.path.dirname(file.path)
    justfile = _with_imports(scene, file)
    first = words[0].partition("::") if words and isinstance(words[0], str) else ("", "", "")
    if first[0] in dict(justfile.modules):
        rest = ((first[2],) if first[2] else ()) + tuple(words[1:])
        return _of_module(scene, file, first[0], dict(justfile.modules)[first[0]], rest)
    return _Run(scene, file, justfile, cwd, overrides).goals(words)


def _of_module(scene: Scene, file: File, name: str, named: str, words: tuple[Word, ...]) -> Answers:
    """`just MODULE RECIPE`: the recipes of another justfile, which run in its folder."""
    root = os.path.dirname(file.path)
    for path in (named,) if named else (f"{name}.just", f"{name}/mod.just", f"{name}/justfile", f"{name}/.justfile"):
        found = os.path.normpath(os.path.join(root, path))
        if isinstance(scene.read(found), File):
            return from_just(scene.within("just", ("-f", found, "-d", os.path.dirname(found), *words)))
    return []


def _with_imports(scene: Scene, file: File) -> Justfile:
    """The justfile together with those that it imports; its own recipes go before theirs."""
    found = parse(file.text)
    waiting = [(file.path, name) for name in found.imports]
    seen = {file.path}
    while waiting and len(seen) < 20:
        around, name = waiting.pop()
        path = os.path.normpath(os.path.join(os.path.dirname(around), name))
        other = scene.read(path) if path not in seen else None
        seen.add(path)
        if isinstance(other, File):
            more = parse(other.text)
            waiting += [(path, name) for name in more.imports]
            found = found._replace(
                recipes={**more.recipes, **found.recipes},
                variables={**more.variables, **found.variables},
                aliases={**more.aliases, **found.aliases},
                first=found.first or more.first,
            )
    return found


def _find(scene: Scene, folder: str) -> File | Refusal | None:
    for _ in range(24):
        for name in ("justfile", "Justfile", ".justfile"):
            file = scene.read(os.path.join(folder, name))
            if file is not None:
                return file
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return None


def parse(text: str) -> Justfile:
    """Reads a justfile; lines that are not understood are passed over, as recipes they cannot be run by name."""
    found = Justfile({}, {}, {}, "", None)
    first: str | None = None
    shell = ""
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "[")) or line[:1] in " \t":
            continue
        words = stripped.split()
        if words[0] in ("set", "import", "mod", "import?", "mod?"):
            if stripped.replace(" ", "").startswith("setshell:="):
                quoted = _strings(stripped)
                shell = quoted[0] if quoted else ""
            elif words[0] in ("import", "import?"):
                found = found._replace(imports=(*found.imports, *_strings(stripped)[:1]))
            elif words[0] in ("mod", "mod?") and len(words) > 1:
                found = found._replace(modules=(*found.modules, (words[1], (*_strings(stripped), "")[0])))
            continue
        name, assign, value = stripped.removeprefix("export ").partition(":=")
        if assign and name.strip().replace("-", "_").isidentifier():
            found.variables[name.strip()] = value.strip()
            continue
        if words[0] == "alias" and assign:
            found.aliases[name.split()[-1]] = value.strip()
            continue
        body: list[str] = []
        while at < len(lines) and (not lines[at].strip() or lines[at][:1] in " \t"):
            body.append(lines[at])
            at += 1
        recipe = _recipe(stripped, body)
        if recipe is not None:
            found.recipes[recipe.name] = recipe
            first = first or recipe.name
    return found._replace(first=first, shell=shell)


def _recipe(header: str, body: list[str]) -> Recipe | None:
    colon = _outside_quotes(header, ":")
    if colon < 0:
        return None
    words = _fields(header[:colon].lstrip("@"))
    if not words or not words[0].replace("-", "_").isidentifier():
        return None
    parameters = []
    for word in words[1:]:
        name, equals, default = word.partition("=")
        parameters.append((name.lstrip("+*$"), default if equals else None, name[:1] in "+*"))
    tail = header[colon + 1 :]
    hash_at = _outside_quotes(tail, "#")
    before, _, after = (tail if hash_at < 0 else tail[:hash_at]).partition("&&")
    while body and not body[-1].strip():
        body.pop()
    indent = len(body[0]) - len(body[0].lstrip()) if body else 0
    return Recipe(words[0], tuple(parameters), _needs(before), _needs(after), tuple(line[indent:] for line in body))


def _needs(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    needs = []
    for field in _fields(text):
        inner = _fields(field[1:-1]) if field.startswith("(") else [field]
        if inner:
            needs.append((inner[0], tuple(inner[1:])))
    return tuple(needs)


class _Run:
    def __init__(self, scene: Scene, file: File, justfile: Justfile, cwd: str, overrides: dict[str, Word]) -> None:
        self.scene = scene
        self.file = file
        self.justfile = justfile
        self.cwd = cwd
        self.overrides = overrides
        self.shown = scene.shown(file.path)
        self.answers: Answers = []
        self.seen: set[tuple[str, tuple[Word, ...]]] = set()

    def goals(self, words: list[Word]) -> Answers:
        if not words and self.justfile.first:
            words = [self.justfile.first]
        at = 0
        while at < len(words):
            name = words[at]
            at += 1
            recipe = self._find(name)
            if recipe is None:
                continue
            count = len(words) if any(variadic for _, _, variadic in recipe.parameters) else len(recipe.parameters)
            given = tuple(words[at : at + count])
            at += count
            self._run(recipe, given, ())
        return self.answers

    def _find(self, name: Word) -> Recipe | None:
        if not isinstance(name, str):
            return None
        return self.justfile.recipes.get(self.justfile.aliases.get(name, name))

    def _run(self, recipe: Recipe, args: tuple[Word, ...], chain: tuple[str, ...]) -> None:
        if (recipe.name, args) in self.seen or len(chain) > 30 or len(self.seen) > MAX_RECIPES:
            return
        self.seen.add((recipe.name, args))
        local: dict[str, Word] = {}
        for at, (name, default, variadic) in enumerate(recipe.parameters):
            if variadic and at < len(args):
                rest = args[at:]
                local[name] = (
                    " ".join(w for w in rest if isinstance(w, str))
                    if all(isinstance(w, str) for w in rest)
                    else Pattern((None,))
                )
            elif at < len(args):
                local[name] = args[at]
            else:
                local[name] = self.value(default, local) if default is not None else ""
        chain = (*chain, f"{self.shown}:{recipe.name}")
        self._needed(recipe.needs, local, chain)
        text = "\n".join(self._line(line, local) for line in recipe.body)
        if text.strip():
            self._emit(recipe, text, local, args, chain)
        self._needed(recipe.after, local, chain)

    def _needed(
        self, needs: tuple[tuple[str, tuple[str, ...]], ...], local: dict[str, Word], chain: tuple[str, ...]
    ) -> None:
        for name, expressions in needs:
            needed = self._find(name)
            if needed is not None:
                self._run(needed, tuple(self.value(e, local) for e in expressions), chain)

    def _emit(
        self,
        recipe: Recipe,
        text: str,
        local: dict[str, Word],
        args: tuple[Word, ...],
        chain: tuple[str, ...],
    ) -> None:
        language = language_of_first_line(text)
        if language is None:
            lines = [line.lstrip("@-") if line[:1] in ("@", "-") else line for line in text.split("\n")]
            lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
            changing = any(word in line for line in lines for word in ("cd ", "exit", "exec ", "export "))
            joined = any(line.endswith("\\") or line[:1] in " \t" for line in lines)
            separate = changing and not joined and len(lines) > 1
            text = "\n".join(f"(\n{line}\n)" for line in lines) if separate else "\n".join(lines)
            language = language_of_program(program_name(self.justfile.shell)) if self.justfile.shell else "sh"
        if not language:
            return
        start = self.scene.start(text, language, chain[-1], file=self.file, args=args, cwd=self.cwd)
        exported = tuple((n, v) for n, v in local.items() if isinstance(v, str))
        self.answers.append(start._replace(via=(*self.scene.command.via, *chain), env=(*start.env, *exported)))

    def _line(self, line: str, local: dict[str, Word]) -> str:
        out = []
        at = 0
        while True:
            opening = line.find("{{", at)
            if opening < 0:
                break
            if line.startswith("{{{{", opening):
                out.append(line[at : opening + 2])
                at = opening + 4
                continue
            closing = line.find("}}", opening)
            if closing < 0:
                break
            out.append(line[at:opening])
            value = self.value(line[opening + 2 : closing], local)
            out.append(value if isinstance(value, str) else "$(just-value)")
            at = closing + 2
        return "".join(out) + line[at:]

    def value(self, expression: str, local: dict[str, Word], depth: int = 0) -> Word:
        """A constant where it can be told; backticks become the shell's `$(…)`."""
        expression = expression.strip()
        if depth > 20:
            return Pattern((None,))
        for op, glue in (("+", ""), ("/", "/")):
            at = _outside_quotes(expression, op)
            if at > 0:
                left, right = (self.value(e, local, depth + 1) for e in (expression[:at], expression[at + 1 :]))
                known = isinstance(left, str) and isinstance(right, str)
                return f"{left}{glue}{right}" if known else Pattern((None,))
        if expression[:1] in "'\"" and len(expression) >= 2:
            quote = expression[:3] if expression[:3] in ('"""', "'''") else expression[0]
            return expression.removeprefix(quote).removesuffix(quote)
        if expression.startswith("`"):
            return f"$({expression.strip('`')})"
        if expression.startswith("(") and expression.endswith(")"):
            return self.value(expression[1:-1], local, depth + 1)
        name, paren, rest = expression.partition("(")
        if paren:
            return self._function(name.strip(), rest.rstrip(") "), local, depth)
        if name in local:
            return local[name]
        if name in self.overrides:
            return self.overrides[name]
        if name in self.justfile.variables:
            return self.value(self.justfile.variables[name], local, depth + 1)
        return Pattern((None,))

    def _function(self, name: str, inside: str, local: dict[str, Word], depth: int) -> Word:
        if name in ("env_var", "env", "env_var_or_default"):
            key, _, default = inside.partition(",")
            variable = self.value(key, local, depth + 1)
            found = self.scene.world.env(variable) if isinstance(variable, str) else None
            if found is None and variable == "HOME":
                found = self.scene.world.home
            return (
                found if found is not None else self.value(default, local, depth + 1) if default else Pattern((None,))
            )
        if name in ("justfile_directory", "invocation_directory", "source_directory", "justfile_dir"):
            return os.path.dirname(self.file.path) if "invocation" not in name else self.scene.cwd
        if name in ("home_directory", "home_dir"):
            return self.scene.world.home
        if name == "quote":
            return self.value(inside, local, depth + 1)
        return Pattern((None,))


def _outside_quotes(text: str, wanted: str) -> int:
    """The first place of `wanted` outside quotes and brackets, or -1."""
    quote = ""
    depth = 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        elif letter == wanted and depth == 0:
            return place
        elif letter in "({":
            depth += 1
        elif letter in ")}":
            depth -= 1
    return -1


def _fields(text: str) -> list[str]:
    """Words, with quoted strings and bracketed groups kept together."""
    fields: list[str] = []
    current = quote = ""
    depth = 0
    for letter in text:
        if quote:
            current += letter
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
            current += letter
        elif letter in " \t" and depth == 0:
            if current:
                fields.append(current)
            current = ""
        else:
            depth += (letter == "(") - (letter == ")")
            current += letter
    return [*fields, current] if current else fields


def _strings(text: str) -> list[str]:
    return [part for at, part in enumerate(text.replace("'", '"').split('"')) if at % 2]
