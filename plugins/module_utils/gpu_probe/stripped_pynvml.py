"""Cuts pynvml down to what the probe uses, on the controller, before it travels.

A node spends most of the probe's time compiling and running the 8,000 lines of pynvml; the probe uses a
tenth of them. What is kept is pynvml's own text, unchanged: every top-level statement that the probe's
names need, directly or through another kept one. Where the cut does not work out, pynvml travels whole.
"""

import ast
import re

_NAME = re.compile(r"\b(?:nvml|NVML|c_nvml|_nvml)\w*")
# What the probe and pynvml itself reach without naming: library loading, error classes and their texts.
_ALWAYS = ("nvmlInit", "nvmlShutdown", "nvmlErrorString", "nvmlLib", "NVMLError", "NVMLLibraryMismatchError")
_ALWAYS_PREFIX = "NVML_ERROR_"


def strip(source, users):
    """The part of pynvml's `source` that the `users` (source texts) need.

    Raises SyntaxError or ValueError where the source is not what it should be.
    """
    tree = ast.parse(source)
    wanted = set(_ALWAYS)
    for user in users:
        wanted.update(_NAME.findall(user))
        wanted.update("NVML_" + name for name in _composed(user))
    kept = _closure(tree.body, wanted)
    lines = source.splitlines(keepends=True)
    missing = [name for name in _ALWAYS if not any(name in _binds(node) for node in kept)]
    if missing:
        raise ValueError("pynvml has no %s" % missing[0])
    return "".join("".join(lines[_first(node) - 1 : node.end_lineno]) for node in kept)


def _composed(user):
    """Names that the probe's tables put together from a prefix and a word in capitals."""
    words = set(re.findall(r'"([A-Z][A-Z0-9_]+)"', user))
    kinds = [kind.upper() for kind in re.findall(r'"(volatile|aggregate|corrected|uncorrected)"', user)]
    prefixes = [name[5:] for name in re.findall(r'"(NVML_[A-Z_]+_)"', user)]
    composed = {prefix + word for prefix in prefixes for word in words.union(kinds)}
    return composed.union(kind + "_ECC" for kind in kinds)


def _closure(body, wanted):
    """Statements to keep, in their order: the wanted ones, what those use, and what is not a definition."""
    binders = {}
    for node in body:
        for name in _binds(node):
            binders.setdefault(name, []).append(node)
    keep, queue = set(), []
    for node in body:
        names = _binds(node)
        if not names or "*" in names or _is_wanted(names, wanted):
            queue.append(node)
    while queue:
        node = queue.pop()
        if id(node) in keep:
            continue
        keep.add(id(node))
        for used in {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}:
            queue.extend(binders.get(used, ()))
    return [node for node in body if id(node) in keep]


def _is_wanted(names, wanted):
    return any(name in wanted or name.startswith(_ALWAYS_PREFIX) for name in names)


def _binds(node):
    """The names that a top-level statement defines; none for statements that only do something."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    return []


def _first(node):
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno] + [decorator.lineno for decorator in decorators])
