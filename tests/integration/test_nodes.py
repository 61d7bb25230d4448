"""The test nodes themselves: apart from each other, and gone without a trace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.nodes import Fleet, Node, crowd, nodes

pytestmark = pytest.mark.root


def ssh(fleet: Fleet, user: str, address: str, port: int, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", *fleet.ssh_arguments, "-p", str(port), f"{user}@{address}", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def at(fleet: Fleet, node: Node, command: str, user: str = "root") -> str:
    done = ssh(fleet, user, node.address, node.port, command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_running(pid: int) -> bool:
    """A process that has ended and waits to be collected does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def overlays() -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if " overlay " in line]


def test_every_node_has_its_own_name_files_and_processes(tmp_path):
    with nodes(tmp_path / "fleet", 2) as fleet:
        one, two = fleet
        at(fleet, one, "echo mine > /etc/motd; hostname")
        assert at(fleet, one, "hostname") == "node-01\n"
        assert at(fleet, two, "hostname; cat /etc/hostname") == "node-02\nnode-02\n"
        assert (one.root / "etc/motd").read_text() == "mine\n"
        assert (two.root / "etc/motd").read_text() != "mine\n"
        assert at(fleet, one, "cat /etc/machine-id") != at(fleet, two, "cat /etc/machine-id")
        assert at(fleet, one, "cat /proc/1/comm") == "sshd\n"
        assert not one.pids() & two.pids()


def test_keeper_becomes_root_by_sudo_only(tmp_path):
    with nodes(tmp_path / "fleet", 1) as fleet:
        assert at(fleet, fleet[0], "id -u; sudo -n id -u", user="keeper").split()[1:] == ["0"]
        assert at(fleet, fleet[0], "id -u", user="keeper") != "0\n"


def test_a_node_with_another_host_key_is_refused(tmp_path):
    with nodes(tmp_path / "fleet", 2) as fleet:
        one, two = fleet
        fleet.known_hosts.write_text(f"[{one.address}]:{one.port} {two.host_key}\n")
        done = ssh(fleet, "root", one.address, one.port, "true")
        assert done.returncode == 255
        assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stderr


def test_nothing_is_left_when_the_block_fails(tmp_path):
    before = overlays()
    pids: set[int] = set()

    def fail_inside() -> None:
        with nodes(tmp_path / "fleet", 2) as fleet:
            at(fleet, fleet[0], "nohup tail -f /dev/null > /dev/null 2>&1 & echo started")
            pids.update(fleet[0].pids() | fleet[1].pids())
            raise InterruptedError(str(fleet.control_dir))

    with pytest.raises(InterruptedError) as interrupted:
        fail_inside()
    assert len(pids) == 3, "two sshd and the process left behind"
    assert not [pid for pid in pids if is_running(pid)]
    assert overlays() == before
    assert not list((tmp_path / "fleet" / "nodes").iterdir())
    assert not Path(str(interrupted.value)).exists()


def test_one_sshd_answers_for_every_address_of_a_crowd(tmp_path):
    with crowd(tmp_path / "fleet", 300) as fleet:
        for name in ("seat-0001", "seat-0300"):
            host = fleet.hosts[name]
            address, port = str(host["ansible_host"]), int(str(host["ansible_port"]))
            done = ssh(fleet, "root", address, port, "echo $SSH_CONNECTION")
            assert done.stdout.split()[2] == address, done.stderr
