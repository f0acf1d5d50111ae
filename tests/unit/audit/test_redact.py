"""Claims about what is taken out of a command before it is recorded."""

from __future__ import annotations

import time
from hashlib import sha256

import pytest

from chrono.audit.redact import MARK, commitment, protect, redact

TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"export GITHUB_TOKEN={TOKEN}", f"export GITHUB_TOKEN={MARK}"),
        (f"echo {TOKEN} | gh auth login", f"echo {MARK} | gh auth login"),
        (f"git push https://{TOKEN}@github.com/x", f"git push https://{MARK}@github.com/x"),
        ("psql postgres://bob:hunter2@db/x", f"psql postgres://bob:{MARK}@db/x"),
        ("mysql -u root -phunter2 shop", f"mysql -u root -p{MARK} shop"),
        ("PGPASSWORD=hunter2 psql", f"PGPASSWORD={MARK} psql"),
        ("PASSWORD='a b' PIN=1 x", f"PASSWORD='{MARK}' PIN=1 x"),
        ("aws --secret-access-key AbC123 s3 ls", f"aws --secret-access-key {MARK} s3 ls"),
        ("x --password=a1 --token 'b c'", f"x --password={MARK} --token '{MARK}'"),
        ("curl -u bob:pw https://x", f"curl -u bob:{MARK} https://x"),
        ("curl -H 'Authorization: Bearer abc.def-1' u", f"curl -H 'Authorization: Bearer {MARK}' u"),
        ("curl -H 'Authorization: Basic Zm9v' u", f"curl -H 'Authorization: Basic {MARK}' u"),
        ('curl -H "X-Api-Key: abcd" u', f'curl -H "X-Api-Key: {MARK}" u'),
        ("curl -b 'x' -H 'Cookie: sid=1; t=2' u", f"curl -b 'x' -H 'Cookie: {MARK}' u"),
        ("curl https://x/?token=abc&y=1", f"curl https://x/?token={MARK}&y=1"),
        ('{"password": "x y", "user": "bob"}', f'{{"password": "{MARK}", "user": "bob"}}'),
        ("docker login -u x -p sekret", f"docker login -u x -p {MARK}"),
        ("sshpass -p pw ssh h", f"sshpass -p {MARK} ssh h"),
        ("redis-cli -h x -a pw get k", f"redis-cli -h x -a {MARK} get k"),
        ("sqlcmd -S h -U sa -P pw -Q x", f"sqlcmd -S h -U sa -P {MARK} -Q x"),
        ("zip -r -P 'p w' a.zip d", f"zip -r -P '{MARK}' a.zip d"),
        ("mongosh -u me -p pw h/db", f"mongosh -u me -p {MARK} h/db"),
        ("skopeo login -u me -p pw r.io", f"skopeo login -u me -p {MARK} r.io"),
        ("7z a -ppw a.7z d", f"7z a -p{MARK} a.7z d"),
        ("ldapsearch -x -D cn=a -w pw -b dc=b", f"ldapsearch -x -D cn=a -w {MARK} -b dc=b"),
        ("smbclient -U me%pw //h/s", f"smbclient -U me%{MARK} //h/s"),
        ("lftp -u me,pw h", f"lftp -u me,{MARK} h"),
        ("sqlplus -S me/pw@h @x.sql", f"sqlplus -S me/{MARK}@h @x.sql"),
        ("htpasswd -bc f me pw && ls", f"htpasswd -bc f me {MARK} && ls"),
        ("openssl rsa -passin pass:pw -in k", f"openssl rsa -passin pass:{MARK} -in k"),
        ("keytool -list -storepass pw", f"keytool -list -storepass {MARK}"),
        ("AKIAABCDEFGHIJKLMNOP", MARK),
        ("sk-ant-api03-abcdefghijklmnop", MARK),
        ("x eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ y", f"x {MARK} y"),
        (
            "curl https://hooks.slack.com/services/T0/B0/xyz",
            f"curl https://hooks.slack.com/services/{MARK}",
        ),
        (
            "echo '-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----' > k",
            f"echo '-----BEGIN OPENSSH PRIVATE KEY-----{MARK}-----END OPENSSH PRIVATE KEY-----' > k",
        ),
        ("-----BEGIN PRIVATE KEY-----\ncut off", f"-----BEGIN PRIVATE KEY-----{MARK}"),
    ],
)
def test_a_secret_is_taken_out_and_the_rest_stays(text: str, clean: str) -> None:
    assert redact(text) == (clean, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rm -rf build",
        'echo $TOKEN --token $TOKEN --password "$PASSWORD"',
        "git commit -m 'parse the token, keep the password dialog'",
        "cat secrets.txt keys/id.pub",
        "monkey=1 tokens_used x",
        "curl https://example.org:8080/a@b",
        "ssh bob@host -p 22",
        "mkdir -p a/b",
        "git log --author=bob@example.org",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert redact(text) == (text, False)


def test_redacting_twice_changes_nothing_more() -> None:
    once, _ = redact(f"TOKEN={TOKEN} psql postgres://a:b@c/d")
    assert redact(once) == (once, False)


def test_the_commitment_is_salted_and_only_there_where_something_was_taken_out() -> None:
    salt = b"s" * 32
    raw = "PASSWORD=hunter2 x"
    protected = protect(raw, salt)
    assert protected.text == f"PASSWORD={MARK} x"
    assert protected.commitment == sha256(b"chrono-commit/v1\0" + salt + raw.encode()).hexdigest()
    assert protect("ls", salt) == ("ls", None, None)
    assert commitment(raw, b"t" * 32) != protected.commitment
    with pytest.raises(ValueError, match="32 bytes"):
        commitment(raw, b"")


def test_the_commitment_covers_bytes_that_are_not_utf8() -> None:
    assert commitment("x\udcff", b"s" * 32) == sha256(b"chrono-commit/v1\0" + b"s" * 32 + b"x\xff").hexdigest()


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a-",
        "token ",
        "mysql ",
        "://",
        "a://b:",
        "eyJ-",
        "eyJabcdefgh.",
        "--token",
        "token= ",
        "-----BEGIN PRIVATE KEY-----",
        "authorization: ",
        "bearer ",
        "'",
        "sk-",
        "docker login ",
        "key:\t",
        "https://",
        "curl -u a:",
        "cookie:",
    ],
)
def test_a_hostile_text_costs_no_more_than_a_blink(piece: str) -> None:
    text = "password bearer mysql docker redis-cli sk- :// " + piece * (64 * 1024 // len(piece))
    start = time.process_time()
    redact(text)
    assert time.process_time() - start < 1.5
