"""Owns what `docker compose` starts: each service of a compose file as the `docker run` that would do the same.

What a container may be given is told by the rules.
"""

from __future__ import annotations

from chrono.scan.command import Refusal
from chrono.scan.follow.scene import File, Scene, Started, mapping
from chrono.yamlfile import YamlError, load

MAX_SERVICES = 40
_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
_OVERRIDES = ("compose.override.yaml", "compose.override.yml", "docker-compose.override.yml")
_STARTS = frozenset(("up", "run", "create", "start", "restart", "watch"))
_SOCKETS = ("/var/run/", "/run/")

Answers = list[Started | Refusal]


def from_compose(scene: Scene) -> Answers:
    """The services that a compose command line may start; nothing for other programs and verbs."""
    args = scene.args
    if scene.program in ("docker", "podman", "nerdctl"):
        if args[:1] != ("compose",):
            return []
        args = args[1:]
    elif scene.program not in ("docker-compose", "podman-compose"):
        return []
    if not any(word in _STARTS for word in args) or "--help" in args:
        return []
    named = [args[at + 1] for at, word in enumerate(args[:-1]) if word in ("-f", "--file")]
    paths = [scene.path(word) for word in named] or _usual(scene)
    answers: Answers = []
    for path in paths:
        file = scene.read(path) if path else None
        if isinstance(file, Refusal):
            answers.append(file)
        elif file is not None:
            answers += _services(scene, file)
    return answers


def _usual(scene: Scene) -> list[str | None]:
    found = [path for path in (scene.path(name) for name in _NAMES) if path and scene.exists(path)]
    return [*found[:1], *(path for path in (scene.path(name) for name in _OVERRIDES) if path and scene.exists(path))]


def _services(scene: Scene, file: File) -> Answers:
    try:
        document = load(file.text, name=scene.shown(file.path)).value
    except YamlError:
        return []
    services = mapping(mapping(document).get("services"))
    answers: Answers = []
    for name, service in list(services.items())[:MAX_SERVICES]:
        options = list(_options(mapping(service), scene, own=file.sha256 is None))
        if options:
            # Only what reaches the machine is of interest; what runs in a closed container is not.
            words = ("docker", "run", *options, str(mapping(service).get("image", name)), *_command(mapping(service)))
            link = f"{scene.shown(file.path)}:services.{name}"
            answers.append(scene.start('"$@"', "sh", link, file=file, args=words))
    return answers


def _options(service: dict[str, object], scene: Scene, *, own: bool) -> list[str]:
    """What a service asks of the machine. Of files that lie there already (not `own`), mounts that are read only and
    the engine's socket count as meant: whole classes of images (metrics, proxies) need them."""
    found = ["--privileged"] if service.get("privileged") is True else []
    for key, option in (("pid", "--pid"), ("ipc", "--ipc"), ("userns_mode", "--userns")):
        found += [option, "host"] if service.get(key) == "host" else []
    for key, option in (("cap_add", "--cap-add"), ("security_opt", "--security-opt"), ("devices", "--device")):
        for value in _listed(service.get(key)):
            found += [option, str(value)]
    for volume in _listed(service.get("volumes")):
        source, target, reads = _mount(volume)
        if source[:1] not in ("/", "~", "$") or (not own and (reads or source.startswith(_SOCKETS))):
            continue
        for spelled in ("~", "${HOME}", "$HOME"):
            if source.startswith(spelled):
                source = scene.world.home + source[len(spelled) :]
        found += ["-v", f"{source}:{target}"]
    return found


def _mount(volume: object) -> tuple[str, str, bool]:
    """(source, target, whether it is only read) of one volume in its short or its long form."""
    if isinstance(volume, dict):
        return str(volume.get("source", "")), str(volume.get("target", "")), volume.get("read_only") is True
    source, _, rest = str(volume).replace("${HOME}", "~").partition(":")
    target, _, mode = rest.partition(":")
    return source, target, "ro" in mode.split(",")


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _command(service: dict[str, object]) -> list[str]:
    command = service.get("command")
    return command.split() if isinstance(command, str) else [str(word) for word in _listed(command)]
