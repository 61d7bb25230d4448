"""A rich console that writes into a string and asks its surroundings nothing."""

from __future__ import annotations

from io import StringIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

WIDTH_MIN = 40
"""Narrowest supported page, in columns; below it tables cannot be read."""


class Page:
    """Collects what is printed at a given width in columns, with ANSI colours only when asked."""

    def __init__(self, width: int, colour: bool) -> None:
        self._out = StringIO()
        self._colour = colour
        self.width = max(width, WIDTH_MIN)
        self._console = Console(
            file=self._out,
            width=self.width,
            height=1,
            force_terminal=colour,
            color_system="standard" if colour else None,
            no_color=not colour,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={},
        )

    def put(self, renderable: RenderableType = "", indent: int = 0) -> None:
        """Print one piece, indented by so many columns."""
        self._console.print(Padding(renderable, (0, 0, 0, indent)) if indent else renderable)

    def heading(self, title: str) -> None:
        """An empty line and a title."""
        self.put()
        self.put(Text(title, style="bold"))

    def hanging(self, lead: str, text: str, indent: int, style: str = "") -> None:
        """A text whose further lines start under its first word; `lead` may be padding."""
        room = max(self.width - indent - len(lead), WIDTH_MIN // 2)
        lines = Text(text, style=style).wrap(self._console, room)
        for number, line in enumerate(lines):
            line.rstrip()
            before = lead if number == 0 else " " * len(lead)
            self.put(Text.assemble(" " * indent, before, line))

    def text(self) -> str:
        """Everything printed so far, without the last line end; without colour no line ends in blanks."""
        printed = self._out.getvalue().rstrip("\n")
        if self._colour:
            return printed
        return "\n".join(line.rstrip() for line in printed.split("\n"))
