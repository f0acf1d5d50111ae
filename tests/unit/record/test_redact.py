"""Claims about secrets: each known shape is masked wherever it stands, and ordinary text is left alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chrono.record import redact
from chrono.record.redact import MASK, SHAPES, default_redactors, is_secret_key, redact_default, redact_secrets

A20, A36, A43, HEX32, HEX40 = "Ab3" * 7, "aB3d" * 9, "aB3dE-_" * 6 + "a", "0a1b" * 8, "0a1b2c3d" * 5

SECRETS = {
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{A36}\n-----END RSA PRIVATE KEY-----",
    "private key cut off": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{A36}",
    "pgp key": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{A36}\n-----END PGP PRIVATE KEY BLOCK-----",
    "openai": f"sk-proj-{A36}",
    "anthropic": f"sk-ant-api03-{A36}",
    "slack bot": "xoxb-123456789012-" + A20,
    "slack app": "xapp-1-A012345-" + A20,
    "slack webhook": "https://hooks.slack.com/services/T000/B000/" + A20,
    "discord webhook": "https://discord.com/api/webhooks/123456/" + A36,
    "github": "ghp_" + A36,
    "github fine": "github_pat_" + A36,
    "gitlab": "glpat-" + A20,
    "aws id": "AKIA" + "ABCD2345" * 2,
    "aws session": "ASIA" + "ABCD2345" * 2,
    "aws secret": "AWS_SECRET_ACCESS_KEY=" + A36,
    "google": "AIza" + A36[:35],
    "google oauth": "ya29." + A36,
    "google secret": "GOCSPX-" + A20,
    "stripe": "sk_live_" + A20,
    "stripe webhook": "whsec_" + A20,
    "sendgrid": f"SG.{A20}.{A36}",
    "twilio": "SK" + HEX32,
    "npm": "npm_" + A36,
    "pypi": "pypi-" + A43,
    "hugging face": "hf_" + A36,
    "groq": "gsk_" + A36,
    "xai": "xai-" + A36,
    "replicate": "r8_" + A36,
    "databricks": "dapi" + HEX32,
    "digitalocean": "dop_v1_" + HEX40,
    "shopify": "shpat_" + HEX32,
    "vault": "hvs." + A36,
    "linear": "lin_api_" + A36,
    "notion": "ntn_" + A36,
    "postman": "PMAK-" + HEX32[:24] + "-" + HEX40[:34],
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8" * 7,
    "telegram": "123456789:AA" + A36[:33],
    "jwt": "eyJhbGciOiJI.eyJzdWIiOiIx." + A20,
    "bearer": "Bearer " + A20,
    "bearer in lower case": "authorization: bearer " + A20,
    "basic": "Basic dXNlcjpwYXNzd29yZA==",
    "url": "postgres://user:hunter2@db/x",
    "query": "https://x.example/?q=1&key=hunter2hunter2",
    "signed url": "https://x.example/?X-Amz-Signature=" + HEX40,
    "password": "password=hunter2",
    "password with colon": "Password: hunter2",
    "json text": '{"api_key": "hunter2hunter2"}',
    "python text": "client_secret='hunter2 with blanks'",
    "env line": "export DB_PASSWORD=hunter2",
    "arrow": "secret_key => hunter2",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_of_a_known_shape_is_masked(secret: str) -> None:
    for text in (secret, f"before {secret}", f"before\n{secret} after", f'["{secret}"]'):
        masked = redact_default(text)
        assert MASK in masked
        for part in (A20, A36, A43, HEX32, HEX40[:34], "hunter2", "ABCD2345", "dXNlcjpwYXNz", "QPZRY9X8"):
            assert part not in masked, masked


def test_every_shape_has_its_secret_here() -> None:
    unseen = [shape.name for shape in SHAPES if not any(shape.pattern.search(secret) for secret in SECRETS.values())]
    assert unseen == []
    assert len(SHAPES) >= 24


def test_a_shape_is_found_by_its_hints_alone() -> None:
    """Else a secret would be seen by the expression but never be shown to it."""
    for shape in SHAPES:
        for secret in SECRETS.values():
            if shape.pattern.search(secret):
                where = secret.lower() if shape.folded else secret
                assert any(hint in where for hint in shape.hints), (shape.name, secret)
                assert not shape.gate or any(one in secret for one in shape.gate), (shape.name, secret)


@pytest.mark.parametrize(
    "text",
    [
        "the quick brown fox jumps over the lazy dog",
        "max_tokens=100, total_tokens: 5000, token_count=20000",
        "https://example.com/search?page=2&q=weather#top",
        "a basic understanding of bearer bonds",
        "risk-adjusted and desk-bound, task-oriented-development-process",
        "monkey: banana, keyboard: qwertz",
        "2026-05-01T12:00:00Z 550e8400-e29b-41d4-a716-446655440000",
        "def f(password: str) -> None: ...",
        "http://localhost:8080/a@b",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_default(text) == text
    assert redact_default(text) == text  # the remembered answer


def test_masking_twice_is_masking_once() -> None:
    for secret in SECRETS.values():
        once = redact_default(secret)
        assert redact_default(once) == once


@pytest.mark.parametrize(
    "key", ["password", "DB_PASSWORD", "apiKey", "x-api-key", "X-Goog-Api-Key", "Authorization", "Set-Cookie",
            "client_secret", "aws.secret.access.key", "refreshToken", "cookie", "secret"],
)  # fmt: skip
def test_a_key_that_names_a_secret_is_known(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize("key", ["max_tokens", "token", "tokens", "key", "monkey", "passenger", "secretary", "author"])
def test_a_key_that_only_sounds_like_one_is_not(key: str) -> None:
    assert not is_secret_key(key)


def test_own_patterns_make_a_redactor_of_their_own() -> None:
    redact = redact_secrets((re.compile(r"ticket-\d+"),))
    assert redact("see ticket-17 and password=hunter2") == f"see {MASK} and password=hunter2"
    assert redact_secrets()("password=hunter2") == f"password={MASK}"
    assert [one("password=hunter2") for one in default_redactors()] == [f"password={MASK}"]


_PARTS = (
    "pass", "password", "passwd", "PWD", "secret", "_key", "-", "_", ".", "=", ":", ":=", "=>", " ", "  ", "\n", '"', "'",
    "token", "access", "Bearer_", "api", "client", "x", "hunter22", "\\\"", "é", "\u0130", "\u0131_", "\u017f", "a" * 41,
    "b_" * 9, "(", ",", MASK, "9",
)  # fmt: skip


@example("password=api_token:abcd1234 secret=x")
@given(st.lists(st.sampled_from(_PARTS), max_size=30).map("".join))
def test_looking_where_names_end_finds_what_their_expression_finds(text: str) -> None:
    assert redact._without_named(text) == redact._NAMED_SECRET.pattern.sub(redact._masked, text)
