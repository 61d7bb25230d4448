"""Muster's lifecycle package: remembers what nodes said, judges it, and reports what to do."""

__version__ = "0.1.0"
