"""Owns what the programs print that code starts: text from the network, where one only fetches.

Starting them is left to `programs`, what is done with a response to each language's library.
"""

from __future__ import annotations

from chrono.scan.code.values import ANY, Items, Thing, elements

_FETCHERS = frozenset(("curl", "wget", "http", "https", "xh", "aria2c"))


def printed(command: object) -> object:
    """What a command line (a text, or a list of words) prints: a response where it only fetches, else ANY."""
    words: list[object] = []
    if isinstance(command, Items):
        words = elements(command)[0]
    elif isinstance(command, str) and "|" not in command and ">" not in command:
        words = list(command.split())
    if not words or not isinstance(words[0], str) or words[0].rpartition("/")[2] not in _FETCHERS:
        return ANY
    urls = [word for word in words[1:] if isinstance(word, str) and ("://" in word or "/" in word.lstrip("/"))]
    return Thing("response", url=urls[0].strip("\"'")) if urls else Thing("response", url=ANY)
