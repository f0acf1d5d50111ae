"""Owns what Python's clients give and do: JSON documents, HTTP, sockets, databases.

Files and programs are left to `python_paths` and `python_library`, SQL to `effects`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code.frames import Arguments, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.json_values import text_of_value, value_of_document
from chrono.scan.code.values import ANY, Items, Table, Thing, elements
from chrono.scan.foreign import cloud_deletions

Handler = Callable[[Machine, Arguments], Value]


def _document(kind: str) -> Handler:
    """A call that reads a document from an open file, or from a text."""

    def call(run: Machine, args: Arguments) -> Value:
        given = args.at(0)
        file = isinstance(given, Thing) and given.kind == "file"
        known = run.effects.content(given.fields["path"]) if isinstance(given, Thing) and file else given
        return value_of_document(known, kind)

    return call


def settings(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """Methods of a ConfigParser: it holds what it has read, by section."""
    held = owner.fields["held"]
    if name in ("read", "read_string", "read_file"):
        given = args.at(0)
        if isinstance(given, Thing) and given.kind == "file":
            given = given.fields["path"]
        found = value_of_document(given if name == "read_string" else run.effects.content(given), "ini")
        if isinstance(held, Table) and isinstance(found, Table):
            held.entries.update(found.entries)
    elif name == "get" and isinstance(held, Table):
        section = held.entries.get(str(args.at(0)))
        if isinstance(section, Table):
            return section.entries.get(str(args.at(1)), ANY)
    return ANY


def _json_dump(run: Machine, args: Arguments) -> Value:
    target = args.at(1, "fp")
    if isinstance(target, Thing) and target.kind == "file":
        run.effects.remember(target.fields["path"], text_of_value(args.at(0, "obj")))
    return ANY


def _fetch(run: Machine, args: Arguments) -> Value:
    url = args.at(0, "url")
    if isinstance(url, Thing) and url.kind == "response":
        return url
    return Thing("response", url=url)


def _http_delete(run: Machine, args: Arguments) -> Value:
    run.effects.command("curl", "-X", "DELETE", run.effects.word(args.at(0, "url")))
    return Thing("response", url=args.at(0, "url"))


def _http_request(run: Machine, args: Arguments) -> Value:
    method = args.at(0, "method")
    rest = args._replace(values=args.values[1:])
    deletes = isinstance(method, str) and method.upper() == "DELETE"
    return _http_delete(run, rest) if deletes else _fetch(run, rest)


def _retrieve(run: Machine, args: Arguments) -> Value:
    target = args.at(1, "filename")
    if target is not None:
        run.effects.command("curl", "-o", run.effects.word(target), run.effects.word(args.at(0, "url")))
    return Items([target, ANY])


def connect(run: Machine, args: Arguments) -> Value:
    """A socket is connected; a shell that is put on it later makes it a reverse shell."""
    address = args.at(0, "address")
    known, _ = elements(address)
    if len(known) >= 2:
        run.effects.connect(known[0], known[1])
    return Thing("socket")


def _unpickle(run: Machine, args: Arguments) -> Value:
    """An object out of a stream runs what the stream says."""
    stream = args.at(0)
    if isinstance(stream, Thing) and stream.kind == "response":
        run.effects.run_code("pickle", ANY, stream.fields["url"])
    elif isinstance(stream, Thing) and stream.kind == "file":
        run.effects.run_code("pickle", stream.fields["path"])
    elif isinstance(stream, bytes) or (isinstance(stream, Thing) and stream.kind == "received"):
        run.effects.run_code("pickle", "-")
    elif isinstance(stream, str):
        run.effects.run_code("pickle", stream)
    return ANY


def _database(product: str, where: str) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        return Thing("database", product=product, where=args.at(0, where) if args.at(0, where) is not None else ANY)

    return call


def _engine(run: Machine, args: Arguments) -> Value:
    url = args.at(0, "url")
    if isinstance(url, str) and url.startswith("sqlite:///"):
        return Thing("database", product="sqlite3", where=url.removeprefix("sqlite:///"))
    product = "psql" if isinstance(url, str) and url.startswith("postgres") else ""
    return Thing("database", product=product, where=url)


def _sdk(run: Machine, args: Arguments) -> Value:
    return Thing("sdk")


_DELETES = frozenset(("delete", "drop", "drop_collection", "drop_database", "prune", "remove_bucket", "delete_all"))


def sdk_method(run: Machine, owner: Thing, name: str, args: Arguments) -> Value:
    """A call on a client of a cloud, a cluster or a data store; what it gives is still the client's."""
    first = args.at(0)
    everything = name == "delete_many" and isinstance(first, Table) and not first.entries
    if everything or name in _DELETES or cloud_deletions(f".{name}("):
        run.effects.command("sdk-call", name)
    elif name in ("flushall", "flushdb"):
        run.effects.command("redis-cli", name)
    return owner


SERVICES: dict[str, Handler] = {
    **dict.fromkeys(
        "pickle.load pickle.loads cPickle.load cPickle.loads dill.load dill.loads cloudpickle.load cloudpickle.loads "
        "joblib.load torch.load pandas.read_pickle jsonpickle.decode shelve.open".split(),
        _unpickle,
    ),
    "marshal.loads": lambda run, args: Thing("compiled"),
    "marshal.load": lambda run, args: Thing("compiled"),
    "types.CodeType": lambda run, args: Thing("compiled"),
    **dict.fromkeys(("json.load", "json.loads"), _document("json")),
    **dict.fromkeys("yaml.safe_load yaml.load yaml.full_load yaml.unsafe_load".split(), _document("yaml")),
    **dict.fromkeys(
        "tomllib.load tomllib.loads toml.load toml.loads tomli.load tomli.loads".split(), _document("toml")
    ),
    **dict.fromkeys(
        ("configparser.ConfigParser", "configparser.RawConfigParser"),
        lambda run, args: Thing("settings", held=Table()),
    ),
    "json.dump": _json_dump,
    "json.dumps": lambda run, args: text_of_value(args.at(0, "obj")),
    "requests.get": _fetch,
    "requests.post": _fetch,
    "httpx.get": _fetch,
    "httpx.post": _fetch,
    "urllib.request.urlopen": _fetch,
    "urllib2.urlopen": _fetch,
    "urllib.urlopen": _fetch,
    "urllib.request.Request": _fetch,
    "urllib.request.urlretrieve": _retrieve,
    "urllib.urlretrieve": _retrieve,
    "wget.download": _retrieve,
    "requests.delete": _http_delete,
    "httpx.delete": _http_delete,
    "requests.request": _http_request,
    "httpx.request": _http_request,
    **dict.fromkeys(
        "boto3.client boto3.resource boto3.Session boto3.session.Session pymongo.MongoClient docker.from_env "
        "docker.DockerClient google.cloud.storage.Client google.cloud.bigquery.Client redis.Redis redis.StrictRedis "
        "redis.from_url elasticsearch.Elasticsearch opensearchpy.OpenSearch kafka.KafkaAdminClient "
        "kafka.admin.KafkaAdminClient kubernetes.client.CoreV1Api kubernetes.client.AppsV1Api "
        "kubernetes.client.BatchV1Api azure.storage.blob.BlobServiceClient minio.Minio".split(),
        _sdk,
    ),
    "socket.socket": lambda run, args: Thing("socket"),
    "socket.create_connection": connect,
    "sqlite3.connect": _database("sqlite3", "database"),
    "psycopg.connect": _database("psql", "conninfo"),
    "asyncpg.connect": _database("psql", "dsn"),
    "pymysql.connect": _database("mysql", "host"),
    "sqlalchemy.create_engine": _engine,
    "duckdb.connect": _database("", "database"),
}
