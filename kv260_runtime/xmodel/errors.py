"""The one exception of this package."""

from __future__ import annotations


class XModelError(ValueError):
    """A file is no XModel, or one that cannot be used as asked; the text is one line: file, place, reason."""

    def __init__(self, file: str, place: str, reason: str) -> None:
        super().__init__(f"{file}: {place}: {reason}" if place else f"{file}: {reason}")
        self.file = file
        self.place = place
        self.reason = reason

    def __reduce__(self) -> tuple[type[XModelError], tuple[str, str, str]]:
        """Pickle by the three parts, so that the error survives the way out of a worker process."""
        return type(self), (self.file, self.place, self.reason)
