"""Whether a job's cgroup may hide GPUs from the reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu_probe import confinement
from node_double import a_node, a_root, options_for, reason, run_probe

DEVICES = "sys/fs/cgroup/devices"


def root_in(where: Path, cgroup: str, **files: str) -> str:
    return str(a_root(where, **{"proc/self/cgroup": cgroup, **files}))


@pytest.mark.parametrize(
    "cgroup",
    [
        "0::/system.slice/slurmstepd.scope/job_42/step_extern/user/task_special\n",
        "0::/system.slice/gpu17_slurmstepd.scope/system\n",
        "12:devices:/slurm/uid_1000/job_42/step_extern\n1:name=systemd:/user.slice/user-1000.slice\n0::/\n",
        "5:memory:/slurm/uid_1000/job_42\n0::/user.slice/user-1000.slice/session-3.scope\n",
    ],
)
def test_a_login_that_slurm_put_into_a_job_is_confined(tmp_path: Path, cgroup: str) -> None:
    assert confinement.read(root_in(tmp_path, cgroup)) is True


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/init.scope",
        "/user.slice",
        "/user.slice/user-0.slice/session-3.scope",
        "/user.slice/user-1000.slice/user@1000.service/app.slice/tmux.scope",
        "/system.slice/ssh.service",
        "/system.slice/system-sshd.slice/sshd@3-10.0.0.1:22.service",
    ],
)
def test_a_login_or_a_service_is_not_confined(tmp_path: Path, path: str) -> None:
    assert confinement.read(root_in(tmp_path, f"0::{path}\n")) is False


@pytest.mark.parametrize(
    "path",
    [
        "/system.slice/docker-0f3c.scope",
        "/docker/0f3c",
        "/kubepods.slice/kubepods-pod1.slice/cri-containerd-0f3c.scope",
        "/system.slice/containerd.service/kubepods-burstable-pod1.slice:cri-containerd:0f3c",
        "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-0f3c.scope/container",
        "/pbs_jobs.service/jobid/7.head",
    ],
)
def test_a_group_of_another_kind_is_unread_and_named(tmp_path: Path, path: str) -> None:
    answer = confinement.read(root_in(tmp_path, f"0::{path}\n"))
    assert reason(answer) == "no_data"
    assert path in answer["detail"]


def test_a_container_that_sees_its_own_group_as_the_first_is_not_taken_for_the_machine(
    tmp_path: Path,
) -> None:
    root = root_in(tmp_path, "0::/\n", **{"sys/fs/cgroup/cgroup.events": "populated 1\n"})
    assert reason(confinement.read(root)) == "no_data"


@pytest.mark.parametrize(
    ("listed", "confined"), [("a *:* rwm\n", False), ("c 1:3 rwm\nc 195:0 rw\n", True), ("", True)]
)
def test_with_cgroup_v1_the_list_of_devices_decides(tmp_path: Path, listed: str, confined: bool) -> None:
    root = root_in(
        tmp_path, "4:cpu,devices:/batch/7\n0::/batch/7\n", **{f"{DEVICES}/batch/7/devices.list": listed}
    )
    assert confinement.read(root) is confined


def test_a_list_of_devices_that_cannot_be_read_leaves_it_unread(tmp_path: Path) -> None:
    assert reason(confinement.read(root_in(tmp_path, "4:devices:/user.slice\n"))) == "no_data"


@pytest.mark.parametrize("cgroup", ["", "nonsense\n", "1:name=systemd:/user.slice\n"])
def test_a_file_that_names_no_group_leaves_it_unread(tmp_path: Path, cgroup: str) -> None:
    assert reason(confinement.read(root_in(tmp_path, cgroup))) == "no_data"


def test_the_probe_says_whether_it_was_confined(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node())
    assert run_probe(chosen)["host"]["confined"] is False
    (tmp_path / "root/proc/self/cgroup").write_text("0::/system.slice/slurmstepd.scope/job_7/step_0\n")
    assert run_probe(chosen)["host"]["confined"] is True
    (tmp_path / "root/proc/self/cgroup").unlink()
    assert reason(run_probe(chosen)["host"]["confined"]) == "no_data"
