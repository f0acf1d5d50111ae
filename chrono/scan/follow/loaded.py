"""Owns which files of the project a tool loads by itself: configuration, plug-ins, tests, the application it serves.

Files that list commands are left to `listed`, tasks in a tool's own language to `sessions`, what the code does to
`scan.code`. docs: decision 102.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.scene import File, Scene, Started, files_below
from chrono.scan.follow.scripts import ENDINGS

Answers = list[Started | Refusal]

MAX_FILES = 12
MAX_CHARS = 40_000
MAX_TESTS = 4
MAX_TEST_CHARS = 12_000
MAX_FOLDERS = 24

_FOREIGN = frozenset(("node_modules", "vendor", "dist", "build", "target", "__pycache__", "site-packages", "coverage"))
_ELSEWHERE = re.compile(
    r"[Mm]ock|monkeypatch|\bstubs?\b|sinon|vi\.fn|jest\.fn|\bpatch\b|tmp_?path|tmp_?dir|[Tt]emporary|mkd?temp|Tempfile|"
    r"\bcwd\b|chdir|isolated_filesystem|CliRunner|memfs|fakefs|pyfakefs|testcontainers|"
    r"\bexecute\w*\("
)
"""Signs that a test works in a place or a database of its own, or puts something else in the place of what it calls:
what its functions do to this machine cannot be told."""
_ACTS = re.compile(
    r"rmtree|system|subprocess|[Pp]open|unlink|[Rr]emove|rm_r|\brm\b|rmSync|rmdir|delete|kill|exec|spawn|urlopen|requests|"
    r"fetch|https?\b|socket|sendall|`|File\.write|writeFile|\bopen\b|FileUtils|Process|Command"
)
"""Signs that a test does something itself; one of which the project's code does all is left to that code's own run."""

_SCRIPT_ENDINGS = ("js", "cjs", "mjs", "ts", "cts", "mts")

_CONFIGURED: dict[str, str] = {
    # tool: the stems of the files it loads, when those are not its own name
    "vitest": "vitest.config vite.config",
    "vue-cli-service": "vue.config",
    "vite-node": "vite.config",
    "svelte-kit": "svelte.config vite.config",
    "eslint": "eslint.config .eslintrc",
    "prettier": "prettier.config .prettierrc",
    "tailwindcss": "tailwind.config",
    "tailwind": "tailwind.config",
    "postcss": "postcss.config .postcssrc",
    "babel": "babel.config .babelrc",
    "gatsby": "gatsby-config gatsby-node",
    "mocha": ".mocharc",
    "commitlint": "commitlint.config .commitlintrc",
    "semantic-release": "release.config .releaserc",
    "lint-staged": "lint-staged.config .lintstagedrc",
    "drizzle-kit": "drizzle.config",
    "knex": "knexfile",
    "sequelize": ".sequelizerc",
    "gulp": "gulpfile Gulpfile",
    "grunt": "Gruntfile gruntfile",
    "jake": "Jakefile",
    "karma": "karma.conf",
    "truffle": "truffle-config",
    "pm2": "ecosystem.config",
    "ng": "karma.conf webpack.config",
    "react-native": "metro.config",
    "storybook": ".storybook/main",
    "start-storybook": ".storybook/main",
    "jest": "jest.config jest.setup",
    "playwright": "playwright.config",
    "cypress": "cypress.config",
    "webpack": "webpack.config",
    "webpack-dev-server": "webpack.config",
    "pnpm": ".pnpmfile",
    "yarn": "yarn.config",
}
_BY_OWN_NAME = frozenset(
    "vite next nuxt astro rollup rspack rsbuild tsup tsdown unbuild remix svgr stylelint ava hardhat metro expo prisma "
    "wrangler esbuild snowpack parcel nodemon release-it markdownlint-cli2 knip size-limit orval graphql-codegen "
    "typedoc docusaurus eleventy vitepress slidev quasar umi ice farm electron-builder electron-forge electron-vite "
    "tsdx microbundle wxt plasmo sanity keystone nest contentlayer syncpack depcheck changelogen unocss stencil "
    "svelte-check nyc c8".split()
)
_INSTALLS = frozenset(("", "install", "i", "add", "update", "up", "remove", "rm", "rebuild", "ci", "dedupe", "fetch"))

_JS_TESTS = re.compile(r"(?:\.(?:test|spec)\.[cm]?[jt]sx?|_test\.[cm]?[jt]sx?)$")
_TESTED: dict[str, tuple[str, re.Pattern[str], tuple[str, ...]]] = {
    # tool: language of its tests, how they are called, folders they lie in
    "jest": ("javascript", _JS_TESTS, (".", "src", "test", "tests", "__tests__")),
    "vitest": ("javascript", _JS_TESTS, (".", "src", "test", "tests", "__tests__")),
    "ava": ("javascript", _JS_TESTS, (".", "src", "test", "tests")),
    "playwright": ("javascript", _JS_TESTS, (".", "tests", "e2e")),
    "mocha": ("javascript", re.compile(r"\.[cm]?[jt]s$"), ("test", "tests", "spec")),
    "node": ("javascript", _JS_TESTS, (".", "src", "test", "tests")),
    "bun": ("javascript", _JS_TESTS, (".", "src", "test", "tests")),
    "deno": ("javascript", _JS_TESTS, (".", "src", "test", "tests")),
    "pytest": ("python", re.compile(r"^test_\w+\.py$|_test\.py$"), (".", "tests", "test")),
    "unittest": ("python", re.compile(r"^test\w*\.py$"), (".", "tests", "test")),
    "rspec": ("ruby", re.compile(r"_spec\.rb$|^spec_helper\.rb$"), ("spec",)),
    "phpunit": ("php", re.compile(r"Test\.php$"), ("tests", "test")),
    "pest": ("php", re.compile(r"Test\.php$|^Pest\.php$"), ("tests", "test")),
    "prove": ("perl", re.compile(r"\.t$"), ("t",)),
}

_SERVED = frozenset(
    "uvicorn gunicorn hypercorn daphne waitress-serve granian flask celery dramatiq rq faust streamlit locust "
    "fastapi litestar sanic robyn chainlit gradio panel bokeh marimo dagster prefect kedro modal ray".split()
)
_APPLICATION = re.compile(r"^([A-Za-z_][\w.]*)(?::[\w.()]+)?$")
_APPLICATION_OPTIONS = ("-A", "--app", "-f", "--locustfile", "-m")
_SERVED_BY_DEFAULT = {"flask": ("app.py", "wsgi.py"), "locust": ("locustfile.py",), "celery": ("celeryconfig.py",)}

_OWN_FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    # tool: language, the files it loads from the folder it runs in
    "scons": ("python", ("SConstruct", "sconstruct", "SConscript")),
    "alembic": ("python", ("alembic/env.py", "migrations/env.py")),
    "sphinx-build": ("python", ("docs/conf.py", "docs/source/conf.py", "conf.py")),
    "doit": ("python", ("dodo.py",)),
    "gunicorn": ("python", ("gunicorn.conf.py",)),
    "ipython": ("python", ("ipython_config.py",)),
    "jupyter": ("python", ("jupyter_server_config.py", "jupyter_notebook_config.py")),
    "cz": ("python", ("cz_customize.py",)),
    "conan": ("python", ("conanfile.py",)),
    "bundle": ("ruby", ("Gemfile",)),
    "bundler": ("ruby", ("Gemfile",)),
    "rackup": ("ruby", ("config.ru",)),
    "puma": ("ruby", ("config/puma.rb", "config.ru")),
    "unicorn": ("ruby", ("config/unicorn.rb", "config.ru")),
    "guard": ("ruby", ("Guardfile",)),
    "cap": ("ruby", ("Capfile", "config/deploy.rb")),
    "fastlane": ("ruby", ("fastlane/Fastfile", "Fastfile")),
    "pod": ("ruby", ("Podfile",)),
    "vagrant": ("ruby", ("Vagrantfile",)),
    "thor": ("ruby", ("Thorfile",)),
    "brew": ("ruby", ("Brewfile",)),
    "rspec": ("ruby", (".rspec.rb",)),
    "danger": ("ruby", ("Dangerfile",)),
    "php-cs-fixer": ("php", (".php-cs-fixer.php", ".php-cs-fixer.dist.php")),
    "rector": ("php", ("rector.php",)),
    "phpunit": ("php", ("tests/bootstrap.php",)),
    "deployer": ("php", ("deploy.php",)),
    "dep": ("php", ("deploy.php",)),
    "ecs": ("php", ("ecs.php",)),
    "build": ("python", ("setup.py", "hatch_build.py", "build.py")),
    "cibuildwheel": ("python", ("setup.py",)),
}
_ONLY_LOOKS = frozenset(("--version", "-V", "-v", "--help", "-h", "help", "version"))

TOOLS = frozenset(
    (*_CONFIGURED, *_BY_OWN_NAME, *_TESTED, *_SERVED, *_OWN_FILES, "manage.py", "django-admin", "py.test", "php")
)


def from_loaded(scene: Scene) -> Answers:
    """The files that the tool of this command loads by itself; nothing for other programs."""
    program, args = scene.program, scene.args
    if not program or (args and args[0] in _ONLY_LOOKS):
        return []
    if program.startswith("python") and args[:1] == ("-m",) and len(args) > 1 and isinstance(args[1], str):
        shadows = _shadowing(scene)
        program, args = args[1], args[2:]
        return [*shadows, *_of_tool(scene.within(program, args))]
    if program.startswith("python") and args and str(args[0]).rpartition("/")[2] == "manage.py":
        program, args = "manage.py", args[1:]
    return _of_tool(scene.within("pytest" if program == "py.test" else program, args))


def _of_tool(scene: Scene) -> Answers:
    answers: Answers = []
    for language, path in _files(scene):
        file = scene.read(path)
        if isinstance(file, File) and len(file.text) <= MAX_CHARS and len(answers) < MAX_FILES:
            answers.append(beside(scene, file, language, called=_ELSEWHERE.search(file.text) is None))
            if language == "javascript":
                answers += _of_configuration(scene, file)
    if scene.program in _TESTED and _runs_tests(scene):
        answers += _of_tests(scene)
    return answers


_SETUP = re.compile(
    r"\b(?:globalSetup|globalTeardown|setupFiles\w*|testEnvironment|reporters|require)\b[\"']?\s*(?::\s*)?(\[[^\]]*\]|[^,\n]+)"
)
_RELATIVE = re.compile(r"[\"'`](?:<rootDir>/|\./)([\w./-]+)[\"'`]")


def _of_configuration(scene: Scene, file: File) -> Answers:
    """Files that a configuration has the tool run before and after its work (`globalSetup: "./setup.js"`)."""
    answers: Answers = []
    for name in [name for value in _SETUP.findall(file.text) for name in _RELATIVE.findall(value)][:MAX_FILES]:
        base = os.path.join(os.path.dirname(file.path), name)
        for path in (base, *(f"{base}.{ending}" for ending in _SCRIPT_ENDINGS)):
            setup = scene.read(path)
            if isinstance(setup, File) and len(setup.text) <= MAX_CHARS:
                answers.append(beside(scene, setup, "javascript", called=_ELSEWHERE.search(setup.text) is None))
                break
    return answers


def _of_tests(scene: Scene) -> Answers:
    """The first tests of a run that do something by themselves; many are read with little care, few with much."""
    language = _TESTED[scene.program][0]
    found: Answers = []
    left = MAX_FILES * 4
    for path in _tests(scene):
        left -= 1
        if not left or len(found) >= MAX_TESTS:
            break
        file = scene.read(path)
        if not isinstance(file, File) or len(file.text) > MAX_TEST_CHARS:
            continue
        if _ACTS.search(file.text) is not None and _ELSEWHERE.search(file.text) is None:
            found.append(beside(scene, file, language, called=True))
    return found


def beside(scene: Scene, file: File, language: str, *, called: bool = False, link: str = "") -> Started:
    """A file that a tool loads without being told to."""
    started = scene.start(file.text, language, link or scene.shown(file.path), file=file)
    return started._replace(called=called, beside=True)


def _files(scene: Scene) -> Iterator[tuple[str, str]]:
    """(language, path) of each file that may be loaded."""
    program = scene.program
    listed = scene.world.listdir(scene.cwd) or ()
    if program in _CONFIGURED or program in _BY_OWN_NAME:
        yield from (("javascript", path) for path in _configurations(scene, listed))
    language, own = _OWN_FILES.get(program, ("", ()))
    if program != "bundle" or _first(scene.args) in _INSTALLS | {"exec", "check"}:
        yield from ((language, os.path.join(scene.cwd, name)) for name in own)
    if program == "php" and scene.args:
        folder = _CONSOLES.get(str(scene.args[0]).rpartition("/")[2])
        yield from (("php", path) for path in _console_commands(scene, folder) if folder)
    if program == "thor":
        yield from (("ruby", os.path.join(scene.cwd, name)) for name in listed if name.endswith(".thor"))
    if program in ("manage.py", "django-admin") and _first(scene.args):
        yield from (("python", path) for path in _management_commands(scene, listed))
    if program == "pytest":
        yield from (("python", os.path.join(scene.cwd, f"{name}.py")) for name in [_named(scene, "-p")] if name)
    if program in _SERVED:
        yield from (("python", path) for path in _applications(scene))


def _first(args: tuple[Word, ...]) -> str:
    return next((word for word in args if isinstance(word, str) and not word.startswith("-")), "")


def _named(scene: Scene, *options: str) -> Word | None:
    """The value of an option."""
    for at, word in enumerate(scene.args):
        name, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        if name in options:
            return value if equals else scene.args[at + 1] if at + 1 < len(scene.args) else None
    return None


def _configurations(scene: Scene, listed: tuple[str, ...] | list[str]) -> Iterator[str]:
    """The configuration that is named, else those whose name says that they are the tool's."""
    if scene.program in ("pnpm", "yarn") and _first(scene.args) not in _INSTALLS:
        return
    named = _named(scene, "-c", "--config", "--gulpfile", "--gruntfile", "--knexfile")
    path = scene.path(named) if isinstance(named, str) else None
    if path is not None and path.rpartition(".")[2] in _SCRIPT_ENDINGS:
        yield path
        return
    stems = _CONFIGURED.get(scene.program, f"{scene.program}.config .{scene.program}rc").split()
    for stem in stems:
        if "/" in stem:
            yield from (os.path.join(scene.cwd, f"{stem}.{ending}") for ending in _SCRIPT_ENDINGS)
    # `webpack.config.prod.js` is loaded too, where it is asked for.
    starts = tuple(f"{stem}." for stem in stems)
    for name in listed:
        if name.startswith(starts) and name.rpartition(".")[2] in _SCRIPT_ENDINGS:
            yield os.path.join(scene.cwd, name)


def _management_commands(scene: Scene, listed: tuple[str, ...] | list[str]) -> Iterator[str]:
    """The file of a command that one of a Django project's applications defines."""
    name = _first(scene.args).replace("-", "_")
    if name.isidentifier():
        for application in [entry for entry in listed if "." not in entry and entry not in _FOREIGN][:MAX_FOLDERS]:
            yield os.path.join(scene.cwd, application, "management", "commands", f"{name}.py")


_CONSOLES = {"artisan": "app/Console/Commands", "console": "src/Command"}
"""By the script that runs them: where Laravel and Symfony keep the commands of a project."""


def _console_commands(scene: Scene, folder: str | None) -> Iterator[str]:
    """The class of a command that a project defines, told by its name in it."""
    verb = _first(scene.args[1:])
    for path in files_below(scene, os.path.join(scene.cwd, folder or ""), ".php"):
        file = scene.read(path)
        if verb and isinstance(file, File) and re.search(rf"[\"']{re.escape(verb)}[\"'\s]", file.text):
            yield path


def _applications(scene: Scene) -> Iterator[str]:
    """The module that a server is told to serve: `shop.wsgi:app`, `-A shop`, `app.py`."""
    named = _named(scene, *_APPLICATION_OPTIONS)
    words = [named] if named is not None else [word for word in scene.args if not str(word).startswith("-")]
    found = False
    for word in words[:4]:
        if not isinstance(word, str):
            continue
        if ENDINGS.get(word.partition(":")[0].rpartition(".")[2]) == "python":
            found = True
            yield scene.path(word.partition(":")[0]) or word
        elif (match := _APPLICATION.match(word)) is not None and (":" in word or named is not None):
            found = True
            base = match[1].replace(".", "/")
            for root in (scene.cwd, os.path.join(scene.cwd, "src")):
                yield from (os.path.join(root, f"{base}{end}") for end in (".py", "/__init__.py", "/celery.py"))
    if not found:
        yield from (os.path.join(scene.cwd, name) for name in _SERVED_BY_DEFAULT.get(scene.program, ()))


# --- tests ------------------------------------------------------------------------------------------------------------


def _runs_tests(scene: Scene) -> bool:
    if scene.program == "node":
        return "--test" in scene.args
    if scene.program in ("bun", "deno", "playwright"):
        return _first(scene.args) == "test"
    return True


def _tests(scene: Scene) -> Iterator[str]:
    """The tests that are named, else those that lie where the tool looks for them."""
    language, fits, folders = _TESTED[scene.program]
    named = [word.partition("::")[0] for word in scene.args if isinstance(word, str) and not word.startswith("-")]
    if scene.program == "unittest":
        named = [word.replace(".", "/") for word in named if word != "discover"]
    places = [path for word in named if (path := _existing(scene, word, language)) is not None]
    if named and not places and scene.program not in ("bun", "deno", "playwright", "vitest", "jest"):
        return
    if scene.program == "pytest":
        # Files that are named are read by `sessions`, with what they are given.
        places = [path for path in places if not path.endswith(".py")] if places else []
        if named and not places:
            return
    for place in places or [os.path.normpath(os.path.join(scene.cwd, folder)) for folder in folders]:
        if ENDINGS.get(place.rpartition(".")[2]) or place.endswith(".t"):
            yield place
        else:
            yield from _tests_below(scene, place, fits, deep=place != scene.cwd)


def _existing(scene: Scene, word: str, language: str) -> str | None:
    """The file or folder that an operand names; a test's name in a class is none (`unittest tests.test_a.T.test_b`)."""
    while word:
        for ending in ("", {"python": ".py", "javascript": ".js"}.get(language, "")):
            path = scene.path(word + ending)
            if path is not None and scene.exists(path):
                return path
        word = word.rpartition("/")[0] if scene.program == "unittest" else ""
    return None


def _tests_below(scene: Scene, root: str, fits: re.Pattern[str], *, deep: bool) -> Iterator[str]:
    waiting, seen = [root], 0
    while waiting and seen < MAX_FOLDERS:
        folder = waiting.pop(0)
        seen += 1
        names = sorted(scene.world.listdir(folder) or ())
        yield from (os.path.join(folder, name) for name in names if fits.search(name))
        if deep:
            waiting += [os.path.join(folder, n) for n in names if "." not in n and n not in _FOREIGN]


# --- modules of the project in the place of the library's -------------------------------------------------------------

_STARTED_BEFORE = frozenset(
    "abc codecs encodings genericpath io os posixpath ntpath site stat sys zipimport builtins time marshal posix "
    # and those whose names are given to programs of one's own
    "test this code cmd profile trace turtle calendar statistics graphlib".split()
)


def _shadowing(scene: Scene) -> Answers:
    """`python -m NAME` looks into the folder it runs in before the library: a `json.py` there is what is loaded."""
    answers: Answers = []
    for name in scene.world.listdir(scene.cwd) or ():
        stem, _, ending = name.rpartition(".")
        if ending == "py" and stem in sys.stdlib_module_names and stem not in _STARTED_BEFORE:
            file = scene.read(os.path.join(scene.cwd, name))
            if isinstance(file, File) and len(file.text) <= MAX_CHARS:
                answers.append(beside(scene, file, "python"))
    return answers[:MAX_FILES]
