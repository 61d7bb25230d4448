"""Reading policy files: by name from the project's `policy/` directory, or by path."""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path

import yaml

from lifecycle.core.errors import BadPolicy
from lifecycle.core.policy import Policy, parse_policy

DEFAULT_POLICY = "owner"
# A policy of all rules with sources is about 12 kB; this only keeps a wrong file from filling memory.
_MAX_BYTES = 1_000_000
_NOTHING_JUDGED = "The policy was not loaded and nothing was judged."


def policy_directory() -> Path:
    """Where named policies are: `policy/` beside the package."""
    return Path(__file__).resolve().parents[2] / "policy"


def load_policy(name_or_path: str = DEFAULT_POLICY, directory: Path | None = None) -> Policy:
    """The policy of that name under `directory`, or of that file. Raises BadPolicy."""
    path = find_policy(name_or_path, directory or policy_directory())
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise BadPolicy(
            f"The policy file {path} cannot be read: {error.strerror or error}.",
            means=_NOTHING_JUDGED,
            remedy="Check the path and its permissions.",
        ) from None
    if len(raw) > _MAX_BYTES:
        raise BadPolicy(
            f"The policy file {path} is larger than {_MAX_BYTES} bytes.",
            means=_NOTHING_JUDGED,
            remedy="Give a policy file; see policy/owner.yml for one.",
        )
    return parse_policy(_parse(raw, path), name=str(path), sha256=hashlib.sha256(raw).hexdigest())


def find_policy(name_or_path: str, directory: Path) -> Path:
    """A word without a slash and without .yml is a name; everything else is a path."""
    if "/" in name_or_path or name_or_path.endswith((".yml", ".yaml")):
        path = Path(name_or_path)
        if not path.is_file():
            raise BadPolicy(
                f"There is no policy file {name_or_path}.",
                means=_NOTHING_JUDGED,
                remedy="Give a path that exists, or one of the names: "
                f"{', '.join(_names(directory)) or 'none'}.",
            )
        return path
    path = directory / f"{name_or_path}.yml"
    if path.is_file():
        return path
    names = _names(directory)
    near = difflib.get_close_matches(name_or_path, names, n=1, cutoff=0.5)
    raise BadPolicy(
        f"There is no policy named «{name_or_path[:60]}» in {directory}.",
        means=_NOTHING_JUDGED,
        remedy=(f"Did you mean «{near[0]}»? " if near else "")
        + f"Known names: {', '.join(names) or 'none'}.",
    )


def _names(directory: Path) -> list[str]:
    return sorted(path.stem for path in directory.glob("*.yml"))


class _Loader(yaml.SafeLoader):
    """safe_load that refuses what YAML lets slip: a key given twice, and aliases that could multiply."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(None, None, "aliases are not allowed here", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key «{key.value[:60]}» is given twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _parse(raw: bytes, path: Path) -> object:
    try:
        return yaml.load(raw, Loader=_Loader)  # noqa: S506  # _Loader is a SafeLoader that only refuses more
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise BadPolicy(
            f"The policy file {path}{where} is not YAML that can be used: {problem}.",
            means=_NOTHING_JUDGED,
            remedy="Correct the line; policy/owner.yml shows the shape.",
        ) from None
