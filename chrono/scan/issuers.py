"""Owns whose a token is: by the program that prints it or the variable that holds it, and the hosts of its issuer.

What leaves the machine at all is left to `scan.secrets`.
"""

from __future__ import annotations

from collections.abc import Iterable

from chrono.scan.command import Command, Pattern, Word
from chrono.scan.expression import expression
from chrono.scan.hosts import OWN_ENDS
from chrono.scan.options import program_names

_GITHUB = ("github.com", "githubusercontent.com", "ghcr.io", "githubcopilot.com")
_GOOGLE = ("googleapis.com", "google.com", "gcr.io", "pkg.dev")
_AZURE = ("azure.com", "azure.net", "microsoft.com", "microsoftonline.com", "azurecr.io", "visualstudio.com")
_AWS = ("amazon.com", "awsapps.com")
_NPM = ("npmjs.org", "npmjs.com", "npm.pkg.github.com", "yarnpkg.com")

_HOSTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("GITHUB", "GH"), _GITHUB),
    **dict.fromkeys(("GITLAB", "CI"), ("gitlab.com",)),
    "BITBUCKET": ("bitbucket.org",),
    "AWS": _AWS,
    **dict.fromkeys(("GOOGLE", "GEMINI", "GCP", "GCLOUD"), _GOOGLE),
    **dict.fromkeys(("AZURE", "ARM"), _AZURE),
    **dict.fromkeys(("NPM", "NODE"), _NPM),
    **dict.fromkeys(("PYPI", "TWINE"), ("pypi.org",)),
    "CARGO": ("crates.io",),
    **dict.fromkeys(("DOCKER", "DOCKERHUB"), ("docker.com", "docker.io")),
    "OPENAI": ("openai.com", "openai.azure.com"),
    "ANTHROPIC": ("anthropic.com", "claude.com", "claude.ai"),
    "MISTRAL": ("mistral.ai",),
    "OPENROUTER": ("openrouter.ai",),
    **dict.fromkeys(("HF", "HUGGINGFACE", "HUGGING"), ("huggingface.co", "hf.co")),
    "STRIPE": ("stripe.com",),
    "SLACK": ("slack.com",),
    "DISCORD": ("discord.com", "discordapp.com"),
    "TELEGRAM": ("telegram.org",),
    "TWILIO": ("twilio.com",),
    "SENDGRID": ("sendgrid.com",),
    **dict.fromkeys(("CLOUDFLARE", "CF"), ("cloudflare.com",)),
    **dict.fromkeys(("DIGITALOCEAN", "DO"), ("digitalocean.com",)),
    "HETZNER": ("hetzner.cloud", "hetzner.com"),
    "HEROKU": ("heroku.com",),
    "VERCEL": ("vercel.com",),
    "NETLIFY": ("netlify.com",),
    "FLY": ("fly.io", "machines.dev"),
    "SENTRY": ("sentry.io",),
    **dict.fromkeys(("DATADOG", "DD"), ("datadoghq.com", "datadoghq.eu")),
    **dict.fromkeys(("JIRA", "ATLASSIAN", "CONFLUENCE"), ("atlassian.net", "atlassian.com")),
    "LINEAR": ("linear.app",),
    "NOTION": ("notion.com", "notion.so"),
    "SUPABASE": ("supabase.co", "supabase.com"),
}
"""First part of a variable's name -> the domains of who gave the token out. Not those where customers answer, as
buckets and functions do (`*.s3.amazonaws.com`, `*.run.app`)."""

_AWS_SERVICE = expression(r"\d+\.dkr\.ecr\.[\w-]+\.amazonaws\.com|[\w-]+\.d\.codeartifact\.[\w-]+\.amazonaws\.com")
"""Services of an issuer beside the buckets of its customers."""

_AT_HOME = ("GITHUB", "GH", "GITLAB", "JIRA", "CONFLUENCE", "SENTRY")
"""What people run on machines of their own, under its name: `gitlab.example.com`."""

_SECRET_PARTS = ("TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "PAT", "CREDENTIALS")

_PASSWORD_PARTS = frozenset(("PASSWORD", "PASSWD", "SECRET"))
_ABOUT_SECRETS = frozenset(("ID", "NAME", "FILE", "PATH", "ARN", "LENGTH", "VERSION", "PREFIX"))

_PRINTERS: dict[tuple[str, ...], str] = {
    ("gh", "auth", "token"): "GITHUB",
    ("gcloud", "auth"): "GOOGLE",
    ("az", "account", "get-access-token"): "AZURE",
    ("aws", "configure", "get"): "AWS",
    ("aws", "ecr", "get-login-password"): "AWS",
    ("aws", "codeartifact", "get-authorization-token"): "AWS",
    ("heroku", "auth:token"): "HEROKU",
    ("fly", "auth", "token"): "FLY",
    ("flyctl", "auth", "token"): "FLY",
    ("doctl", "auth", "token"): "DIGITALOCEAN",
    ("npm", "config", "get"): "NPM",
}
"""Commands that print a token, by their first words."""

_CLIENTS = frozenset(("curl", "wget", "http", "https", "xh", "git", "docker", "podman", "nerdctl", "helm", "gh"))


def variable_issuer(name: str) -> str | None:
    """Who gave out what a variable of this name holds; None where the name says nothing of a known issuer's secret."""
    parts = name.upper().split("_")
    if len(parts) < 2 or parts[0] not in _HOSTS or not any(part in _SECRET_PARTS for part in parts[1:]):
        return None
    return None if parts[-1] == "ID" and "ACCESS" not in parts else parts[0]


def is_password(name: str) -> bool:
    """Whether a variable is called as passwords and shared secrets are, of which nobody knows who may have them."""
    if not name.isupper():
        return False
    parts = name.split("_")
    return (not _PASSWORD_PARTS.isdisjoint(parts) or name.endswith("PASSWORD")) and parts[-1] not in _ABOUT_SECRETS


_TOKENS = ("_TOKEN", "_KEY", "_PAT", "_CREDENTIALS")


def is_token(name: str) -> bool:
    """Whether a variable is called as tokens and keys are, whoever gave them out (`API_TOKEN`, `DEPLOY_KEY`)."""
    return name.isupper() and name.endswith(_TOKENS) and "PUBLIC" not in name


def issuer_of(source: tuple[Word, ...]) -> str | None:
    """Whose token the command prints (`gh auth token`, `printenv GITHUB_TOKEN`); None: no token that is known here."""
    if not source:
        return None
    name = next(iter(program_names(source[0])), "")
    if name == "printenv":
        return variable_issuer(source[1]) if len(source) == 2 and isinstance(source[1], str) else None
    words = (name, *(word for word in source[1:3] if isinstance(word, str)))
    return _PRINTERS.get(words) or _PRINTERS.get(words[:2])


def goes_home(source: tuple[Word, ...], command: Command) -> bool:
    """Whether a token goes to nobody but its issuer: each address that the command names is one of its hosts."""
    issuer = issuer_of(source)
    hosts = list(_hosts(command.argv[1:]))
    return issuer is not None and bool(hosts) and all(_is_of(host, issuer) for host in hosts)


def goes_abroad(source: tuple[Word, ...], command: Command) -> bool:
    """Whether a token goes to a host that is known and is not its issuer's."""
    issuer = issuer_of(source)
    return issuer is not None and any(not _is_of(host, issuer) for host in _hosts(command.argv[1:]))


def stands_in_foreign_address(command: Command) -> bool:
    """Whether what a client is told besides its options stands in the address of somebody else's host."""
    if any(isinstance(word, str) and word.startswith(_LOGINS) for word in command.argv[1:]):
        return False
    return names_foreign_host(command)


def names_foreign_host(command: Command) -> bool:
    """Whether one of the addresses leads out of the own network."""
    return any(
        "." in host and not host.endswith(OWN_ENDS) and not host[0].isdigit() for host in _hosts(command.argv[1:])
    )


_LOGINS = ("-u", "--user", "-H", "--header", "-d", "--data", "-F", "--form", "--json", "--password", "--http-password")


def is_client(command: Command) -> bool:
    """Whether a program hands what it is given to a host that its words name."""
    return any(name in _CLIENTS for name in program_names(command.argv[0]))


def _is_of(host: str, issuer: str) -> bool:
    domains = _HOSTS[issuer]
    if host in domains or host.endswith(tuple(f".{domain}" for domain in domains)):
        return True
    if issuer == "AWS":
        return _AWS_SERVICE.fullmatch(host) is not None
    return issuer in _AT_HOME and host.startswith(f"{issuer.lower()}.")


def _hosts(words: tuple[Word, ...]) -> Iterable[str]:
    """The hosts that are named for certain, in addresses and behind `login`."""
    for at, word in enumerate(words):
        text = "".join(piece or "\0" for piece in word.pieces) if isinstance(word, Pattern) else word
        if not isinstance(text, str) or text[:1] in ("-", ".", "@", ""):
            continue
        scheme, marks, rest = text.partition("://")
        if marks and scheme.lower() not in ("http", "https"):
            continue
        bare = not marks and ("/" in text or "login" in words[:at])
        if marks or bare:
            authority = (rest if marks else text).partition("/")[0].partition("?")[0]
            host = authority.rpartition("@")[2].partition(":")[0].lower()
            if "." in host.strip(".") and "." in host.rpartition("\0")[2] and " " not in host:
                yield host
