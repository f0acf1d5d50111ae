"""Owns telling by its name alone whether a program may start something that can be read: most are of none of these.

What one starts is left to `started`, which is loaded for those only.
"""

from __future__ import annotations

from chrono.scan.command import Many, Pattern, Word

FOLLOWED = frozenset(
    "sh dash ash posh bash rbash ksh mksh zsh python pypy pythonw ipython jython micropython py ruby jruby "
    "truffleruby perl php pwsh powershell cmd node nodejs tsx ts-node ts-node-esm esno babel-node nodemon iojs zx deno "
    "bun bunx npx pnpx npm pnpm yarn yarnpkg cnpm ni nr run-s run-p npm-run-all concurrently wireit composer pip uv "
    "poetry pipenv pdm rye hatch pixi conda mamba micromamba dotenv mise asdf bundle coverage doppler direnv heroku "
    "poe poethepoet make gmake gnumake mingw32-make remake task go-task just tox nox inv invoke fab pytest py.test "
    "rake run-parts rails irb pry manage.py django-admin flask artisan sail psysh bpython ptpython "
    "docker docker-compose podman podman-compose nerdctl "
    # tools that load files of the project by themselves, those whose file lists commands, languages without a reader
    "vite vitest vite-node vue-cli-service svelte-kit next nuxt astro rollup rspack rsbuild tsup tsdown unbuild remix "
    "eslint prettier tailwindcss tailwind postcss babel gatsby mocha jest ava playwright cypress commitlint "
    "semantic-release lint-staged drizzle-kit knex sequelize gulp grunt jake karma truffle pm2 ng react-native "
    "storybook start-storybook webpack webpack-dev-server svgr stylelint hardhat metro expo prisma wrangler esbuild "
    "snowpack parcel release-it knip size-limit orval graphql-codegen typedoc docusaurus eleventy vitepress slidev "
    "quasar umi ice farm electron-builder electron-forge electron-vite tsdx microbundle wxt plasmo sanity keystone "
    "nest contentlayer syncpack depcheck changelogen unocss stencil nyc c8 unittest rspec phpunit pest prove uvicorn "
    "gunicorn hypercorn daphne waitress-serve granian celery dramatiq rq faust streamlit locust fastapi litestar "
    "sanic robyn chainlit gradio panel bokeh marimo dagster prefect kedro modal ray scons alembic sphinx-build doit "
    "jupyter cz conan bundler rackup puma unicorn guard cap fastlane pod vagrant thor brew danger php-cs-fixer rector "
    "deployer dep ecs cibuildwheel foreman honcho overmind goreman hivemind forego nf act gitlab-ci-local "
    "gitlab-runner drone woodpecker-cli circleci pre-commit prek lefthook ansible-playbook devcontainer terraform "
    "tofu earthly mask air ninja cmake ctest meson mvn mvnw ant gradle gradlew nx turbo lerna go cargo skaffold "
    "goreleaser melos moon dvc lua luajit luau rscript r littler julia tclsh wish expect elixir iex groovy java "
    "kotlin swift dart scala octave guile sbcl clisp racket clojure clj bb nim crystal raku runhaskell runghc ocaml "
    "zig escript fennel janet cscript wscript fish bats awk gawk mawk nawk gdb lldb vim vi nvim ex view emacs mix "
    "mage psql papermill runipy snakemake packer bazel bazelisk sbt tilt rush ultra".split()
)
"""Programs, without version, of which a follower knows something; most commands are of none of them."""

_GIT_STARTS_NOTHING = frozenset(
    "add annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore clean clone config "
    "describe diff diff-index diff-tree fetch for-each-ref format-patch fsck gc grep gui help init log ls-files "
    "ls-remote ls-tree lfs maintenance merge-base mv name-rev notes prune range-diff reflog remote repack replace "
    "request-pull reset restore rev-list rev-parse rm shortlog show show-branch show-ref sparse-checkout stash status "
    "submodule symbolic-ref tag update-index update-ref var verify-commit version whatchanged write-tree".split()
)
_GIT_VALUES = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"))

SYSTEM_FOLDERS = (
    "/usr/bin/",
    "/bin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/usr/sbin/",
    "/sbin/",
    "/snap/bin/",
)


def git_verb(args: tuple[Word, ...]) -> tuple[Word | None, tuple[Word, ...]]:
    """What a git command line asks for, and the words behind it."""
    at = 0
    while at < len(args):
        word = args[at]
        if not isinstance(word, str) or not word.startswith("-"):
            return word, args[at + 1 :]
        at += 2 if word in _GIT_VALUES else 1
    return None, ()


def is_followed(argv: tuple[Word, ...]) -> bool:
    """Whether a command may start something that can be read: one of FOLLOWED, a path of its own, or git where it
    runs hooks."""
    known = _MAY_START.get(argv[0])
    if known is None:
        if len(_MAY_START) > 2000:
            _MAY_START.clear()
        known = _MAY_START[argv[0]] = _may_start(argv[0])
    if known and program_name(argv[0]) == "git":
        verb = git_verb(argv[1:])[0]
        return isinstance(verb, str) and verb not in _GIT_STARTS_NOTHING
    return known


_MAY_START: dict[Word, bool] = {}
"""By the word that names the program."""


def _may_start(word: Word) -> bool:
    """What the name alone tells; of git, that it depends on the verb."""
    name = program_name(word)
    if name == "git" or name.lower().endswith((".vbs", ".vbe", ".wsf")):
        return True
    if name in FOLLOWED or name.rstrip("0123456789.-").lower() in FOLLOWED:
        return True
    if isinstance(word, Pattern):
        return bool(word.pieces) and word.pieces[0] is not None and names_a_path(word.pieces[0])
    return isinstance(word, str) and names_a_path(word)


def names_a_path(word: str) -> bool:
    """Whether a program is named by a path that is none of the system's."""
    return ("/" in word or "\\" in word) and not word.startswith(SYSTEM_FOLDERS)


def program_name(word: Word) -> str:
    """The last component of the program's path, also of a path that is known only at its end."""
    known = _NAMES.get(word)
    if known is None:
        if len(_NAMES) > 2000:
            _NAMES.clear()
        known = _NAMES[word] = _name_of(word)
    return known


_NAMES: dict[Word, str] = {}
"""Asked for several times by each follower; a session's commands start the same programs again and again."""


def _name_of(word: Word) -> str:
    if isinstance(word, Many):
        return ""
    if isinstance(word, Pattern):
        last = word.pieces[-1] if word.pieces else None
        if last is None or "/" not in last:
            return ""
        word = last
    name = word.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    return stem if dot and ending.lower() in ("exe", "com") else name
