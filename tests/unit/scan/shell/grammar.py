"""Owns random shell texts for comparing with the real bash: harmless by construction, since they name stubs only.

Texts use bare program names, write into the current folder only and end by themselves.
"""

from __future__ import annotations

import random
import shlex

_LETTERS = "abcde"
_NAMES = ("x", "y", "z")


class Grammar:
    """A generator with a fixed seed; `text` makes one script."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def text(self) -> str:
        lines = [f"{name}={self.literal()}" for name in _NAMES if self.random.random() < 0.6]
        lines += [self.command(3) for _ in range(self.random.randint(1, 3))]
        return self.pick("; ", "\n").join(lines)

    def literal(self) -> str:
        word = "".join(self.random.choice(_LETTERS) for _ in range(self.random.randint(1, 3)))
        return self.pick(word, word, f"'{word} q'", f'"{word}  r"', f"{word}\\ s", f"$'{word}\\tu'", f"{word}.txt")

    def word(self, depth: int) -> str:
        return "".join(self.piece(depth) for _ in range(self.pick("1", "1", "2").count("1") or 2))

    def piece(self, depth: int) -> str:
        name = self.pick(*_NAMES)
        simple = (self.literal(), f"${name}", f'"${name}"', f"${{{name}}}", f'"a${{{name}}}b"', "$1", '"$@"', "$#")
        if depth <= 0 or self.random.random() < 0.4:
            return self.pick(*simple)
        inner = self.word(depth - 1)
        return self.pick(
            f"$({self.output(depth - 1)})",
            f'"$({self.output(depth - 1)})"',
            f"${{{name}:-{inner}}}",
            f'"${{{name}:+{inner}}}"',
            f"${{{name}{self.pick('#', '##', '%', '%%')}{self.pick('a*', '*a', '?', 'b')}}}",
            f"${{{name}/{self.pick('a', 'b*', '?')}/{self.pick('Q', '')}}}",
            f"${{#{name}}}",
            f"${{{name}^^}}",
            f'"${{{name}:{self.pick("0", "1", "2")}:{self.pick("1", "2")}}}"',
            f"$(({self.random.randint(0, 9)}{self.pick('+', '*', '-')}{self.random.randint(1, 9)}))",
            f"{{{self.pick('a', 'b')},{self.pick('c', '')}}}",
            f"{{{self.random.randint(1, 3)}..{self.random.randint(3, 5)}}}",
            f"`echo {self.pick('k', 'l m')}`",
        )

    def output(self, depth: int) -> str:
        """A command whose output is known."""
        words = self.word(depth)
        return self.pick(
            f"echo {words}",
            f"printf '%s\\n' {words}",
            f"printf '%s-' {words}",
            f"echo {words} | tr a-c A-C",
            f"echo {words} | rev",
            f"cat <<< {words}",
            f"echo {words}; echo n",
        )

    def command(self, depth: int) -> str:
        words = " ".join(self.word(2) for _ in range(self.random.randint(1, 3)))
        if depth <= 0 or self.random.random() < 0.3:
            return f"tool {words}"
        inner = self.command(depth - 1)
        other = self.command(depth - 1)
        name = self.pick(*_NAMES)
        self.functions += 1
        function = f"f{self.functions}"
        condition = self.pick("true", "false", f'[ "${name}" = a ]', f"[[ ${name} == a* ]]", "(( 2 > 1 ))", "git q")
        return self.pick(
            f"{name}={self.word(1)}; {inner}",
            f"{name}+={self.literal()}; {inner}",
            f"if {condition}; then {inner}; else {other}; fi",
            f"for {name} in {words}; do {inner}; done",
            f"{condition} && {{ {inner}; }} || {other}",
            f"( {inner} ); {other}",
            f"{{ {inner}; }} | cat",
            f"{function}() {{ {inner}; }}; {function} {words}",
            f"{function}() {{ local {name}={self.literal()}; {inner}; }}; {function} {self.literal()}; {other}",
            f"case {self.word(1)} in a*) {inner};; *) {other};; esac",
            f"eval {shlex.quote(inner)}",
            f"bash -c {shlex.quote(inner)} zero {words}",
            f"set -- {words}; {inner}",
            f"{self.output(1)} | while read -r {name}; do {inner}; done",
            f"read {name} <<< {self.word(1)}; {inner}",
            f'arr=({words}); tool "${{arr[@]}}" ${{#arr[@]}}; {inner}',
            f"{name}=1 env tool {words}",
            f"echo {self.literal()} | xargs tool {self.literal()}",
            f"{{ bash <<'END{self.functions}'\n{inner}\nEND{self.functions}\n}}",
            f"i=0; while [ $i -lt 2 ]; do i=$((i+1)); {inner}; done",
            f"printf '%s\\n' {shlex.quote(inner)} | bash",
        )
