"""The Debian tree that every node stands on: made once by debootstrap, then only read.

The cache is `$MUSTER_CACHE`, else `$XDG_CACHE_HOME`, else `~/.cache`, each followed by `muster-tests/`.
A tree is found by the digest of what it is made from, so a changed recipe makes a new one. An empty
cache costs one debootstrap, about a minute; nothing else depends on it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

# python3 and openssh-server are what Muster asks of a node; sudo is for become.
PACKAGES = ("openssh-server", "python3", "sudo")

# Accounts of the tree: root and one that has to ask sudo. `*` is an account without a password that
# sshd still lets in by key; useradd's own `!` would lock it.
PREPARE = """
set -eu
useradd --create-home --shell /bin/bash keeper
usermod --password '*' keeper
usermod --password '*' root
echo 'keeper ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/keeper
chmod 0440 /etc/sudoers.d/keeper
rm -f /etc/ssh/ssh_host_*
apt-get clean
rm -rf /var/lib/apt/lists/*
"""


@dataclass(frozen=True)
class Recipe:
    """What a tree is made from. `mirror` is left out of the digest: mirrors carry the same packages."""

    suite: str
    architecture: str
    packages: tuple[str, ...] = PACKAGES
    prepare: str = PREPARE

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def cache_dir() -> Path:
    """Where trees are kept between runs."""
    for variable in ("MUSTER_CACHE", "XDG_CACHE_HOME"):
        if os.environ.get(variable):
            return Path(os.environ[variable]) / "muster-tests"
    return Path.home() / ".cache" / "muster-tests"


def base_tree() -> Path:
    """The tree's path; made first if the cache does not hold it. Only one process makes it at a time."""
    mirror, suite = apt_mirror()
    recipe = Recipe(suite=suite, architecture=platform.machine())
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    tree = cache / f"tree-{recipe.digest()}"
    with FileLock(cache / f"tree-{recipe.digest()}.lock"):
        if not tree.is_dir():
            build_tree(recipe, mirror, tree)
    return tree


def build_tree(recipe: Recipe, mirror: str, tree: Path) -> None:
    """Make the tree beside its place and move it there when it is whole."""
    partial = tree.with_name(tree.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    log = tree.with_name(tree.name + ".log")
    bootstrap = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(recipe.packages)}",
        recipe.suite,
        str(partial),
        mirror,
    ]
    with log.open("wb") as sink:
        for command in (bootstrap, ["chroot", str(partial), "/bin/sh", "-c", recipe.prepare]):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{command[0]} failed with {done.returncode}; its output is in {log}")
    partial.rename(tree)


def apt_mirror() -> tuple[str, str]:
    """The mirror and suite this machine itself installs from, as apt reads its own sources."""
    suite = os_release()["VERSION_CODENAME"]
    listing = subprocess.run(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(REPO_URI)|$(RELEASE)|$(COMPONENT)",
            "Created-By: Packages",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for line in listing.splitlines():
        uri, release, component = line.split("|")
        if release == suite and component == "main":
            return uri, suite
    raise RuntimeError(
        f"apt's sources name no main archive of {suite}, so there is no mirror to make a tree from"
    )


def os_release() -> dict[str, str]:
    return platform.freedesktop_os_release()
