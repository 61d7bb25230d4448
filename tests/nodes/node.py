"""One node: an overlay on the tree, in namespaces of its own, with an sshd for its first process.

Mounts live in the node's mount namespace and processes in its PID namespace, so SIGKILL to the node's
`unshare` ends all of it at once, and so does the end of the process that started it.
"""

from __future__ import annotations

import hashlib
import os
import select
import shutil
import stat
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

SCRIPT = Path(__file__).with_name("node.sh")

SSHD_CONFIG = """\
{listen}
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
AllowUsers *@127.*
UsePAM no
PrintMotd no
MaxStartups 1000
MaxSessions 100
LogLevel INFO
Subsystem sftp internal-sftp
"""

# How long the kernel may take to end a node's processes.
END_DEADLINE_S = 30.0

FileContent = str | bytes | Path


@dataclass(frozen=True)
class NodeSpec:
    """How a node differs from the bare tree.

    files: content by absolute path, a Path meaning «a copy of this file»; those under /proc and /sys stand
    in for the kernel's. executable: paths among them that get mode 0755. absent: paths of the tree that
    this node does not have. variables: what the inventory says about the
    node.
    """

    name: str
    files: Mapping[str, FileContent] = field(default_factory=dict)
    executable: frozenset[str] = frozenset()
    absent: tuple[str, ...] = ()
    variables: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Node:
    """A node that runs. `root` is its file system as it sees it, writable while it runs."""

    name: str
    address: str
    port: int
    spec: NodeSpec
    home: Path
    process: subprocess.Popen[str]
    host_key: str

    @property
    def root(self) -> Path:
        return Path(f"/proc/{self.first_pid()}/root")

    def first_pid(self) -> int:
        """The PID, as this machine counts, of the node's first process."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            raise RuntimeError(f"node {self.name} has ended; its sshd said: {self.log()}")
        return int(children[0])

    def pids(self) -> set[int]:
        """The PIDs, as this machine counts, of everything that runs in the node."""
        namespace = Path(f"/proc/{self.first_pid()}/ns/pid").readlink()
        return {
            int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and _namespace(p) == namespace
        }

    def log(self) -> str:
        return (self.home / "sshd.log").read_text(errors="replace")

    def run(self, *command: str) -> str:
        """What a command prints inside the node (not over SSH)."""
        enter = ["nsenter", f"--target={self.first_pid()}", "--mount", "--uts", "--pid", "--root", "--wd=/"]
        done = subprocess.run(
            [*enter, *command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {command[0]} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def end(self) -> None:
        """Take the node away, as pulling its plug would, and return when nothing of it runs."""
        try:
            first = os.pidfd_open(self.first_pid())
        except (OSError, RuntimeError):
            first = None
        self.process.kill()
        self.process.wait()
        if first is not None:
            # The kernel ends every process of a PID namespace before its first one is gone.
            select.select([first], [], [], END_DEADLINE_S)
            os.close(first)

    def remove(self) -> None:
        self.end()
        shutil.rmtree(self.home)


def _namespace(process: Path) -> Path | None:
    try:
        return (process / "ns" / "pid").readlink()
    except OSError:
        return None


def start_node(
    spec: NodeSpec, tree: Path, home: Path, *, listen: str, address: str, port: int, authorized_key: str
) -> Node:
    """Start a node; `wait_until_up` tells when it answers. `home` must not exist yet."""
    upper = home / "upper"
    for directory in (upper, home / "work", home / "merged"):
        directory.mkdir(parents=True)
    host_key = make_key(home / "host_key", comment=spec.name)
    files: dict[str, FileContent] = {
        "/etc/hostname": spec.name + "\n",
        "/etc/hosts": f"127.0.0.1 localhost\n{address} {spec.name}\n",
        "/etc/machine-id": f"{hash_name(spec.name):032x}\n",
        "/etc/ssh/sshd_config": SSHD_CONFIG.format(listen=listen),
        "/etc/ssh/ssh_host_ed25519_key": home / "host_key",
        "/etc/ssh/authorized_keys": authorized_key + "\n",
        **spec.files,
    }
    for path, content in files.items():
        lay(tree, upper, home / "kernel", path, content, mode=0o755 if path in spec.executable else None)
    for path in spec.absent:
        whiteout(upper, path)
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        "--mount",
        "--uts",
        "--pid",
        "--fork",
        "--kill-child",
    ]
    process = subprocess.Popen(
        [*command, "/bin/sh", str(SCRIPT), spec.name, str(tree), str(home)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    return Node(spec.name, address, port, spec, home, process, host_key)


def wait_until_up(node: Node, deadline_s: float = 60.0) -> None:
    """Return when the node's sshd listens; its further words go to `home/sshd.log`."""
    up = threading.Event()
    stream = node.process.stderr
    assert stream is not None
    threading.Thread(target=_keep_log, args=(stream, node.home / "sshd.log", up), daemon=True).start()
    if not up.wait(deadline_s) or node.process.poll() is not None:
        raise RuntimeError(f"node {node.name} did not come up; it said: {node.log()}")


def _keep_log(stream: IO[str], path: Path, up: threading.Event) -> None:
    with stream, path.open("w", buffering=1) as log:
        for line in stream:
            log.write(line)
            if line.startswith("Server listening on"):
                up.set()
    up.set()


def lay(tree: Path, upper: Path, kernel: Path, path: str, content: FileContent, *, mode: int | None) -> None:
    """Put one file into the overlay, or beside it when it stands in for a file of /proc or /sys."""
    base = kernel if path.startswith(("/proc/", "/sys/")) else upper
    target = base / path.lstrip("/")
    _make_parents(tree, base, target.parent)
    if isinstance(content, Path):
        shutil.copy(content, target)
    elif isinstance(content, bytes):
        target.write_bytes(content)
    else:
        target.write_text(content)
    if mode is not None:
        target.chmod(mode)


def _make_parents(tree: Path, base: Path, directory: Path) -> None:
    """Directories of the overlay hide the tree's: they get the tree's owner and mode."""
    if directory == base or directory.is_dir():
        base.mkdir(parents=True, exist_ok=True)
        return
    _make_parents(tree, base, directory.parent)
    directory.mkdir()
    below = tree / directory.relative_to(base)
    if below.is_dir():
        shutil.copystat(below, directory)
        shutil.chown(directory, below.stat().st_uid, below.stat().st_gid)


def whiteout(upper: Path, path: str) -> None:
    """Overlayfs reads a 0/0 character device in the upper layer as «this file is gone»."""
    target = upper / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    os.mknod(target, stat.S_IFCHR | 0o600, os.makedev(0, 0))


def make_key(path: Path, *, comment: str) -> str:
    """A new ed25519 key pair without a passphrase; returns the public line."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path.with_name(path.name + ".pub").read_text().strip()


def hash_name(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")
