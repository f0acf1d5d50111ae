"""Owns git as libraries offer it (GitPython, dulwich, pygit2, simple-git): each call as the git command that does it.

What a git command means is left to the rules; other libraries to each language's own table.
"""

from __future__ import annotations

from chrono.scan.code.frames import Arguments, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.values import ANY, Items, Ref, Table, Thing, elements, truth

_OPENERS = frozenset(
    "git.Repo git.Git git.Repo.init git.Repo.clone_from git.repo.Repo pygit2.Repository dulwich.repo.Repo "
    "simple-git simple-git.simpleGit simple-git.gitP".split()
)

# Calls on a repository of which the command follows from the name; flags are said as `name=True`.
_REPOSITORY: dict[str, tuple[str, ...]] = {
    "delete_head": ("branch", "-d"),
    "delete_tag": ("tag", "-d"),
    "delete_remote": ("remote", "remove"),
    "checkout_head": ("checkout", "HEAD", "--", "."),
    "checkout_index": ("checkout-index", "-a"),
}
_SIMPLE_GIT: dict[str, tuple[str, ...]] = {
    "deleteLocalBranch": ("branch", "-d"),
    "deleteLocalBranches": ("branch", "-d"),
    "pushTags": ("push", "--tags"),
    "rm": ("rm", "-f"),
    "rmKeepLocal": ("rm", "--cached"),
    "raw": (),
    **{name: (name,) for name in "reset clean push pull checkout stash branch merge rebase tag fetch revert".split()},
}


def opened(name: str, args: Arguments) -> Thing | None:
    """The repository that a library call opens, None where the call is another one."""
    if name not in _OPENERS:
        return None
    folder = args.at(0, "path")
    library = "simple-git" if name.startswith("simple") else "command" if name == "git.Git" else "python"
    return Thing("git", library=library, part="",
                 within="", folder=folder if isinstance(folder, str) else ".")  # fmt: skip


def part_of(owner: Thing, name: str) -> Thing:
    """`repo.git`, `repo.head`, `repo.remotes.origin`: the same repository, seen through a name."""
    return Thing("git", **{**owner.fields, "part": name, "within": owner.fields["part"]})


def method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """One call on a repository or on a part of it; a part that is called itself has no `name`."""
    if owner.fields["library"] == "simple-git":
        words = _SIMPLE_GIT.get(name)
        if words is not None:
            given = _flat(args)
            if name == "clean" and given and isinstance(given[0], str):
                given[0] = f"-{given[0].lstrip('-')}"
            _git(run, owner, (*words, *given))
        return owner
    name, part = (name, owner.fields["part"]) if name else (str(owner.fields["part"]), owner.fields["within"])
    if part == "git" or (part == "" and owner.fields["library"] == "command"):
        given, more = elements(args.at(0)) if name == "execute" else ([], None)
        if name == "execute":
            run.effects.program(Items(given, more))
        else:
            _git(run, owner, (name.replace("_", "-"), *_options(args), *_flat(args)))
        return ANY
    if name == "reset":
        hard = truth(args.named.get("working_tree")) or any("HARD" in _name(value) for value in args.values[1:])
        _git(run, owner, ("reset", *(("--hard",) if hard else ()), *args.values[:1]))
    elif name in ("push", "push_refspecs"):
        _git(run, owner, ("push", *_options(args, ("force", "delete", "mirror", "all")), "origin", *_flat(args),
                          *_listed(args.named.get("refspec"))))  # fmt: skip
    elif name in ("checkout", "remove"):
        forced = truth(args.named.get("force")) or truth(args.named.get("working_tree"))
        if forced:
            _git(run, owner, ("rm", "-rf", *_flat(args)) if name == "remove" else ("checkout", "-f", "HEAD", "--", "."))
    elif name in _REPOSITORY:
        _git(run, owner, (*_REPOSITORY[name], *_options(args, ("force",)), *_flat(args)))
    return ANY if name not in ("remote", "active_branch") else owner


def porcelain(run: Machine, name: str, args: Arguments) -> Value:
    """dulwich's commands: `porcelain.reset(repo, "hard")`; the first argument is the repository."""
    rest = args._replace(values=args.values[1:])
    owner = Thing("git", library="python", part="git", folder=".")
    if name == "reset":
        mode = rest.at(0, "mode")
        _git(run, owner, ("reset", f"--{mode}" if isinstance(mode, str) else ANY, *rest.values[1:]))
    elif name in ("push", "clean", "rm", "remove", "branch_delete", "checkout_branch", "checkout"):
        words = {"branch_delete": ("branch", "-D"), "remove": ("rm",), "checkout_branch": ("checkout",),
                 "clean": ("clean", "-f")}.get(name, (name,))  # fmt: skip
        _git(run, owner, (*words, *_options(rest, ("force",)), *_flat(rest)))
    return ANY


def _git(run: Machine, owner: Thing, words: tuple[Value, ...]) -> None:
    folder = owner.fields["folder"]
    run.effects.program(Items(["git", *(("-C", folder) if folder not in (".", "./") else ()), *words]))


def _flat(args: Arguments) -> list[Value]:
    """The arguments as words: lists are laid open, `{"--force": null}` is an option, callbacks are none."""
    words: list[Value] = []
    for value in args.values:
        if isinstance(value, Items):
            words += _listed(value)
        elif isinstance(value, Table):
            words += [key for key in value.entries if isinstance(key, str)]
        elif isinstance(value, Ref):
            words += _FLAGS.get(_name(value), ())
        else:
            words.append(value)
    return words


# Names that simple-git has for options.
_FLAGS: dict[str, tuple[str, ...]] = {
    "ResetMode.HARD": ("--hard",),
    "CleanOptions.FORCE": ("-f",),
    "CleanOptions.RECURSIVE": ("-d",),
    "CleanOptions.IGNORED_INCLUDED": ("-x",),
}


def _listed(value: Value) -> list[Value]:
    return elements(value)[0] if isinstance(value, Items) else [] if value is None else [value]


def _name(value: Value) -> str:
    """The last two parts of a library name (`ResetMode.HARD`)."""
    return ".".join(value.name.split(".")[-2:]) if isinstance(value, Ref) else ""


def _options(args: Arguments, known: tuple[str, ...] | None = None) -> list[Value]:
    """`hard=True, m="x"` as `--hard -m x`; only those that are `known` where that is given."""
    words: list[Value] = []
    for name, value in args.named.items():
        if known is not None and name not in known:
            continue
        option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, str) and known is None:
            words += [option, value] if len(name) == 1 else [f"{option}={value}"]
    return words
