"""Owns the names by which a path is known for what it is: system folders, credentials, control files, build output.

Resolving links and putting a path into a class is left to `scan.paths`.
"""

from __future__ import annotations

HARMLESS_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd/",
    "/dev/pts/",
    "/dev/ptmx",
)

TEMP_ROOTS = frozenset(["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm", "/run/user"])

SYSTEM_ROOTS = frozenset(
    "/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /opt /proc /root /run /sbin /snap /srv /sys /usr /var /home /nix "
    "/mnt /media /Users /System /Library /Applications /Volumes /private /cores".split()
)
_SYSTEM_BELOW = tuple(
    f"{root}/"
    for root in "/bin /boot /etc /lib /lib32 /lib64 /libx32 /proc /root /run /sbin /snap /srv /sys /usr /var "
    "/opt /nix /System /Library /Applications /private/etc /private/var".split()
)
_TEMP_BELOW = (
    "/tmp/",
    "/var/tmp/",
    "/private/tmp/",
    "/private/var/tmp/",
    "/var/folders/",
    "/private/var/folders/",
    "/dev/shm/",
    "/run/user/",
)

CONTROL_FILES = (
    ".chrono",
    "chrono-policy.yaml",
    ".chronoignore",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".gemini/config/hooks.json",
    ".gemini/trusted_hooks.json",
    ".qwen/settings.json",
    ".github/hooks",
    ".copilot/hooks",
    ".copilot/settings.json",
    ".clinerules/hooks",
    ".cline/hooks",
    "Documents/Cline/Hooks",
    ".opencode/plugin",
    ".opencode/plugins",
    ".config/opencode/plugin",
    ".config/opencode/plugins",
    ".kilo/plugin",
    ".kilo/plugins",
    ".factory/hooks.json",
    ".factory/settings.json",
    ".cursor/hooks.json",
    ".windsurf/hooks.json",
    ".codeium/windsurf/hooks.json",
    ".codeium/hooks.json",
    ".agents/plugins/chrono",
    ".amp/plugins",
    ".config/amp/plugins",
)
"""Below a project, a home or any folder that a client may be started in: chrono's own files and the clients' hooks."""

_CONTROL_ENDS = tuple("/" + name.lower() for name in CONTROL_FILES)
_CONTROL_BELOW = tuple("/" + name.lower() + "/" for name in CONTROL_FILES if "." not in name.rsplit("/", 1)[-1][1:])
_CONTROL_UNDOTTED = tuple(part for part in _CONTROL_BELOW if "/." not in part)
_CONTROL_MANAGED = (
    "/etc/claude-code/",
    "/etc/codex/",
    "/etc/gemini-cli/",
    "/etc/windsurf/",
    "/library/application support/claudecode/",
)
_PACKAGES = "-packages/chrono"
_INSTALLED = (
    "/site-packages/chrono/",
    "/site-packages/chrono_rules/",
    "/site-packages/chrono_toolkit-",
    "/dist-packages/chrono/",
)

_CREDENTIAL_FILES = frozenset(
    ".netrc .pgpass .my.cnf .npmrc .yarnrc.yml .pypirc .git-credentials .vault-token .dockercfg .s3cfg .boto .htpasswd "
    ".aws/credentials .docker/config.json .kube/config .config/gh/hosts.yml .config/hub .config/rclone/rclone.conf "
    ".cargo/credentials .cargo/credentials.toml .gem/credentials .terraformrc .terraform.d/credentials.tfrc.json "
    ".config/pip/pip.conf .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json "
    ".config/github-copilot/hosts.json "
    ".config/op/config .azure/accesstokens.json .azure/msal_token_cache.json .databrickscfg .snowsql/config "
    ".local/share/keyrings .password-store .bitcoin/wallet.dat .ethereum/keystore .config/solana/id.json".split()
)
_CREDENTIAL_FOLDERS = (
    ".ssh/",
    ".gnupg/",
    ".password-store/",
    ".local/share/keyrings/",
    ".config/gcloud/",
    ".ethereum/keystore/",
    "library/keychains/",
    ".config/google-chrome/",
    ".config/chromium/",
    ".mozilla/firefox/",
    "library/application support/google/chrome/",
    "library/application support/firefox/",
    ".config/bitwarden",
    ".config/1password",
)
_PUBLIC = frozenset([".ssh/known_hosts", ".ssh/known_hosts.old", ".ssh/allowed_signers", ".ssh"])
VAULTS = frozenset(
    ".ssh .gnupg .aws .kube .docker .azure .config/gcloud .config/gh .config/op .password-store .local/share/keyrings "
    ".ethereum/keystore .mozilla/firefox .config/google-chrome .config/chromium library/keychains .config/rclone "
    ".terraform.d .config/solana .bitcoin".split()
)
"""Folders of a home that hold secrets: whoever copies one has them."""

_SECRET_NAMES = frozenset(
    ".env .netrc .pgpass .npmrc .pypirc .htpasswd id_rsa id_ed25519 id_ecdsa id_dsa credentials credentials.json "
    "secrets.yml secrets.yaml secrets.json master.key service-account.json serviceaccount.json terraform.tfstate "
    "kubeconfig .git-credentials .dockercfg wallet.dat".split()
)
_SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".ovpn", ".tfvars")
_HISTORIES = frozenset(("fish_history", "consolehost_history.txt", ".lesshst", ".viminfo", "bash_history"))
_BROWSER_SECRETS = ("login data", "cookies", "logins.json", "key4.db", "web data", "local state", "cookies.sqlite")

_ETC_CREDENTIALS = frozenset(
    "/etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/master.passwd /etc/krb5.keytab /etc/ssl/private "
    "/var/lib/secrets /run/secrets".split()
)
_ETC_CREDENTIALS_BELOW = (
    "/etc/ssl/private/",
    "/etc/ssh/ssh_host_",
    "/run/secrets/",
    "/var/run/secrets/",
    "/etc/letsencrypt/live/",
    "/etc/letsencrypt/archive/",
)

_STARTUP = frozenset(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout "
    ".kshrc .cshrc .tcshrc .login .xinitrc .xprofile .xsession .xsessionrc .inputrc .pam_environment "
    ".config/fish/config.fish .ssh/config .ssh/rc .ssh/environment .ssh/authorized_keys .ssh/authorized_keys2 "
    ".gitconfig "
    ".config/git/config .pythonrc .pdbrc .gdbinit .lldbinit .npm-init.js "
    "documents/powershell/profile.ps1 documents/windowspowershell/profile.ps1 .config/powershell/profile.ps1".split()
)
_STARTUP_BELOW = (
    ".config/autostart/",
    ".config/systemd/user/",
    ".config/fish/conf.d/",
    ".config/environment.d/",
    "library/launchagents/",
    ".bashrc.d/",
    ".zshrc.d/",
    "appdata/roaming/microsoft/windows/start menu/programs/startup/",
)

_REGENERABLE = frozenset(
    "node_modules bower_components jspm_packages .pnpm-store .yarn dist build _build target out .next .nuxt .output "
    ".svelte-kit .astro .vite .turbo .parcel-cache .cache .angular .expo .docusaurus .vercel .netlify .serverless "
    ".webpack storybook-static coverage .coverage .nyc_output htmlcov .venv venv __pycache__ .pytest_cache "
    ".mypy_cache .ruff_cache .tox .nox .hypothesis .eggs .ipynb_checkpoints .gradle .dart_tool .bundle .terraform "
    ".sass-cache .eslintcache .stylelintcache .tsbuildinfo cmake-build-debug cmake-build-release CMakeFiles "
    "TestResults bazel-bin bazel-out bazel-testlogs _site public/build .jekyll-cache tmp temp .tmp .temp "
    "logs log obj zig-cache "
    ".zig-cache zig-out DerivedData Pods .pytype .pyre test-results playwright-report "
    ".import_linter_cache site-packages "
    ".benchmarks elm-stuff .stack-work dist-newstyle .cpcache .shadow-cljs .metals .bloop .bsp .swc .rpt2_cache "
    ".rollup.cache wheelhouse allure-results lcov-report .direnv .aws-sam cdk.out".split()
)
_REGENERABLE_ENDS = (".egg-info", ".dist-info", ".dsym", ".xcarchive")

_HOME_CACHES = (
    ".cache/",
    "appdata/local/npm-cache/",
    "appdata/local/pip/cache/",
    "appdata/local/nuget/",
    "appdata/local/yarn/cache/",
    ".nuget/packages/",
    ".npm/_",
    ".gradle/caches/",
    "library/caches/",
    ".m2/repository/",
    ".cargo/registry/",
    ".local/share/trash/",
    ".nv/",
    ".yarn/cache/",
    ".bun/install/cache/",
    "go/pkg/mod/cache/",
    ".rustup/tmp/",
    ".rustup/downloads/",
    ".pub-cache/",
)

_DISPOSABLE_ENDS = tuple(
    (
        ".pyc .pyo .pyd .o .obj .a .so .la .lo .class .log .tmp .temp .bak .orig .rej .swp .swo .swn .cache .pid .lock "
        ".gcda .gcno .gcov .profraw .profdata .tsbuildinfo .eslintcache .aux .toc .fls .fdb_latexmk .synctex.gz .map "
        ".out .whl .coverage .prof .trace .core .dump.tmp .pdb .ilk .idb .pch .tlog .part .crdownload .elc .beam .hi "
        ".dyn_o .dyn_hi .ds_store .stackdump"
    ).split()
)
_DISPOSABLE_NAMES = frozenset(
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum .ds_store thumbs.db desktop.ini "
    "nohup.out core .coverage coverage.xml coverage.out coverage.json junit.xml report.xml "
    "a.out npm-debug.log yarn-error.log lerna-debug.log .eslintcache .tsbuildinfo .python_history .sconsign.dblite "
    "cover.out profile.out cpu.prof mem.prof lcov.info .nyc_output".split()
)

_WINDOWS_SYSTEM = (
    "windows",
    "program files",
    "program files (x86)",
    "programdata",
    "users",
    "system volume information",
    "recovery",
    "boot",
)


def is_windows(path: str) -> bool:
    """Whether the path begins with a drive letter or a share."""
    if path[1:2] == ":":
        return path[0].isalpha() and path[2:3] in ("", "/")
    return path[:2] == "//"


def is_absolute(path: str) -> bool:
    return path[:1] == "/" or is_windows(path)


def is_drive(path: str) -> bool:
    """Whether the path is the root of a drive: `C:`, `C:/`."""
    return path[1:2] == ":" and is_windows(path) and path[2:].strip("/.") == ""


def on_drive(path: str) -> str | None:
    """The class of a path on a Windows drive, None for any other path."""
    if not is_windows(path) or path.startswith("//"):
        return None
    parts = [part for part in path[2:].lower().split("/") if part and part != "."]
    if not parts:
        return "root"
    if parts[0] in ("users", "documents and settings"):
        if len(parts) <= 2:
            return "home"
        return in_home("/".join(parts[2:]))
    return "system" if parts[0] in _WINDOWS_SYSTEM else "outside"


def is_temp(path: str) -> bool:
    """Whether the path lies below a folder for scratch files (not that folder itself)."""
    return path.startswith(_TEMP_BELOW) and path not in TEMP_ROOTS and not _is_own_root(path)


def _is_own_root(path: str) -> bool:
    """`/run/user/1000` and `/var/folders/xx` hold everything of one person."""
    return path.startswith("/run/user/") and path.count("/") == 3


def is_system(path: str) -> bool:
    return path in SYSTEM_ROOTS or path in TEMP_ROOTS or path.startswith(_SYSTEM_BELOW)


def is_control(path: str) -> bool:
    """Whether the path is a file of chrono's own, of its installation, or a client's hook file."""
    lower = path.lower()
    if lower.endswith(_CONTROL_ENDS) or lower.startswith(_CONTROL_MANAGED):
        return True
    for part in _CONTROL_BELOW if "/." in lower else _CONTROL_UNDOTTED:
        if part in lower:
            return True
    above, _, name = lower.rpartition("/")
    if name.startswith("settings") and name.endswith(".json") and above.endswith("/.claude"):
        return True
    return _PACKAGES in lower and any(part in lower for part in _INSTALLED)


def in_home(inner: str) -> str:
    """The class of a path below a home, from the part after the home."""
    lower = inner.lower()
    if lower in _STARTUP or lower.startswith(_STARTUP_BELOW):
        return "startup"
    if lower in _PUBLIC or lower.endswith(".pub"):
        return "dotfile"
    if lower in _CREDENTIAL_FILES:
        return "credential"
    if lower.startswith(_CREDENTIAL_FOLDERS):
        browser = "chrom" in lower or "firefox" in lower
        return "credential" if not browser or lower.endswith(_BROWSER_SECRETS) else "dotfile"
    if lower.startswith("appdata/local/temp/"):
        return "temp"
    if lower.startswith(_HOME_CACHES):
        return "regenerable"
    return "dotfile" if lower[:1] == "." else "home"


def is_secret_name(name: str) -> bool:
    """Whether a file is called as files that hold secrets are, wherever it lies (`.env.production`, `server.key`)."""
    lower = name.lower()
    if lower.startswith(".env."):
        return not lower.endswith(("example", "sample", "template", "dist", "defaults"))
    return lower in _SECRET_NAMES or lower.endswith(_SECRET_ENDS)


def is_history(name: str) -> bool:
    """Whether a shell or another prompt keeps what was typed in a file of this name: passwords are among it."""
    lower = name.lower()
    return lower in _HISTORIES or (lower[:1] == "." and lower.endswith(("_history", "-history", "histfile")))


def in_etc(path: str) -> str | None:
    """The class of a credential file of the system, None for any other path."""
    if path in _ETC_CREDENTIALS or path.startswith(_ETC_CREDENTIALS_BELOW):
        return "credential" if not path.endswith(".pub") else None
    return None


def is_regenerable(parts: list[str]) -> bool:
    """Whether a path inside a project, given as its components, is or lies in what a build makes again."""
    if not _REGENERABLE.isdisjoint(parts):
        return True
    for part in parts:  # noqa: SIM110 - a generator costs more than the question
        if part.lower().endswith(_REGENERABLE_ENDS):
            return True
    return False


def is_disposable(name: str) -> bool:
    """Whether a file's name says that nobody misses it: logs, objects, caches, editors' leftovers."""
    lower = name.lower()
    if lower in _DISPOSABLE_NAMES or lower.endswith("~"):
        return True
    return lower.endswith(_DISPOSABLE_ENDS) and lower != ".lock"
