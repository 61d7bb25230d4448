"""The journey: sources and pynvml in one compressed piece, started by whatever Python a node has."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from gpu_probe import fabric, holders, nvml, payload, readings
from node_double import MODULE_UTILS, a_card, a_node, imported, options_for, run_probe

WHOLE = payload.build(cut=False)
CUT = payload.build()


def interpreters(*versions: str) -> list[Any]:
    """Further Pythons of this machine, from PATH and pyenv, each with its version as the test's name.

    A machine without one runs the test with its own Python, and the test's name says so.
    """
    found = []
    for version in versions:
        named = shutil.which(f"python{version}")
        built = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python{version}"))
        path = str(built[0]) if built else named
        if path is not None and is_that_python(path, version):
            found.append((path, version))
    own = (sys.executable, f"none-of-{'-'.join(versions)}-here-so-this-one")
    return [pytest.param(path, id=name) for path, name in found or [own]]


def is_that_python(path: str, version: str) -> bool:
    """Whether it runs at all: a version manager's stand-in may be on PATH without the version behind it."""
    ask = "import sys; sys.stdout.write('.'.join(map(str, sys.version_info[:2])))"
    done = started([path, "-c", ask], b"")
    return done.returncode == 0 and done.stdout.decode() == version


def started(command: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, input=data, capture_output=True, env={"PATH": "/usr/bin:/bin"}, check=False
    )


def answer_in(stdout: bytes) -> dict[str, Any]:
    head, packed = stdout.strip().split(b"\n")
    mark, length, checksum = head.split()
    assert (mark, int(length), int(checksum, 16)) == (b"MUSTER-ANSWER/1", len(packed), zlib.crc32(packed))
    answer: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return answer


def same(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer without what differs from run to run and from one Python to another."""
    for card in answer["cards"]:
        card["read"].pop("took_ms")
    for name in ("clock", "nvml_held_ms", "python"):
        answer["host"].pop(name)
    answer["probe"].pop("took_ms")
    return answer


def test_the_payload_stays_far_below_what_may_travel() -> None:
    assert len(CUT.data({})) < len(WHOLE.data({})) <= payload.LIMIT_BYTES


def test_the_boot_program_fits_between_the_quotes_of_a_shell() -> None:
    assert "'" not in payload.BOOT
    assert "\\" not in payload.BOOT


def test_the_cut_pynvml_reads_exactly_what_the_whole_one_reads(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node(a_card(0), a_card(1, faults={"lost": True})))
    boot = [sys.executable, "-I", "-S", "-c", payload.BOOT]
    cut = answer_in(started(boot, CUT.data(chosen)).stdout)
    whole = answer_in(started(boot, WHOLE.data(chosen)).stdout)
    assert same(cut) == same(whole) == same(run_probe(chosen))


def test_the_cut_pynvml_reads_exactly_what_the_whole_one_reads_of_an_old_driver(tmp_path: Path) -> None:
    older = [
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetTemperatureV",
    ]
    bare = a_card(0, ecc={"0": {"0": [1, 0]}, "1": {"0": [1, 0]}}, sram_status=None, nvlink=None)
    chosen = options_for(tmp_path, a_node(bare, missing_functions=older, driver="470.82.01"))
    boot = [sys.executable, "-I", "-S", "-c", payload.BOOT]
    cut = answer_in(started(boot, CUT.data(chosen)).stdout)
    assert same(cut) == same(answer_in(started(boot, WHOLE.data(chosen)).stdout))


def named_by(attempt: Any) -> set[str]:
    """The names of pynvml that an attempt of the probe's tables reaches."""
    words = [attempt.name, getattr(attempt, "struct", ""), getattr(attempt, "code", "")]
    words += [word for word in getattr(attempt, "arguments", ()) if isinstance(word, str)]
    inner = [*getattr(attempt, "calls", ()), *([attempt.call] if hasattr(attempt, "call") else [])]
    return {word for word in words if word}.union(*(named_by(one) for one in inner))


def test_every_name_of_pynvml_that_the_probe_uses_is_in_the_cut(tmp_path: Path) -> None:
    sources = json.loads(zlib.decompress(CUT.code))
    (tmp_path / "cut_pynvml.py").write_text(sources["pynvml"])
    cut = imported("cut_pynvml", tmp_path / "cut_pynvml.py")
    tables = [reading.attempts for reading in readings.READINGS] + [
        fabric.ATTEMPTS,
        holders.COMPUTE,
        holders.GRAPHICS,
    ]
    names = {name for table in tables for attempt in table for name in named_by(attempt)}
    for module, source in sources.items():
        if module != "pynvml":
            names |= set(re.findall(r"\bpynvml\.(\w+)", source)) | set(
                re.findall(r'"(NVML_\w*[A-Z])"', source)
            )
    assert len(names) > 80
    assert sorted(name for name in names - set(nvml.MOVING_FIELDS) if not hasattr(cut, name)) == []


@pytest.mark.parametrize("python", interpreters("3.8", "3.9", "3.13"))
def test_another_python_gives_the_same_answer(tmp_path: Path, python: str) -> None:
    chosen = options_for(tmp_path, a_node(a_card()))
    done = started([python, "-I", "-S", "-c", payload.BOOT], CUT.data(chosen))
    assert same(answer_in(done.stdout)) == same(run_probe(chosen))


@pytest.mark.parametrize("python", interpreters("2.7", "3.6", "3.7"))
def test_a_python_that_is_too_old_starts_a_newer_one_or_says_so(tmp_path: Path, python: str) -> None:
    chosen = options_for(tmp_path, a_node())
    done = started([python, "-c", payload.BOOT], CUT.data(chosen))
    if done.returncode == 127:
        assert done.stderr.startswith(payload.NO_PYTHON.encode())
    else:
        assert answer_in(done.stdout)["schema"] == "probe/1"


def test_the_probe_is_written_for_python_3_8() -> None:
    vermin = Path(sys.executable).parent / "vermin"
    sources = [str(path) for path in sorted((MODULE_UTILS / "gpu_probe").glob("*.py"))]
    on_node = [path for path in sources if Path(path).name not in ("payload.py", "stripped_pynvml.py")]
    assert len(on_node) > 20
    done = subprocess.run([vermin, "--no-tips", *on_node], capture_output=True, text=True, check=True)
    least = re.search(r"^Minimum required versions: .*?3\.(\d+)$", done.stdout, re.MULTILINE)
    assert least is not None, done.stdout
    assert int(least.group(1)) <= 8, done.stdout


def test_the_shell_line_finds_a_python_and_says_where_there_is_none(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node())
    line = CUT.command("/nowhere/python3")
    done = started(["/bin/sh", "-c", line], CUT.data(chosen))
    assert answer_in(done.stdout)["schema"] == "probe/1"
    without = line.replace("python3", "python-of-nobody").replace("platform-python", "nor-this")
    refused = started(["/bin/sh", "-c", without], CUT.data(chosen))
    assert (refused.returncode, refused.stderr) == (127, b"MUSTER-NO-PYTHON none\n")


def test_a_json_module_lying_about_is_not_taken_for_pythons_own(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken in')")
    done = subprocess.run(
        ["/bin/sh", "-c", CUT.command()],
        input=CUT.data(options_for(tmp_path, a_node())),
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert answer_in(done.stdout)["schema"] == "probe/1"


def test_without_pynvml_anywhere_the_fact_says_so(tmp_path: Path) -> None:
    bare = payload.Payload(payload.probe_sources(), None)
    done = started(
        ["/usr/bin/env", "python3", "-I", "-S", "-c", payload.BOOT], bare.data(options_for(tmp_path, None))
    )
    host = answer_in(done.stdout)["host"]
    assert host["nvml_state"] == "library_missing"
    assert "neither on the controller nor on this node" in host["nvml_detail"]


def test_a_binding_that_cannot_be_cut_travels_whole() -> None:
    odd = payload.Payload({"gpu_probe": ""}, "nvmlInit = None\n")
    assert json.loads(zlib.decompress(odd.code))["pynvml"] == "nvmlInit = None\n"


def test_the_payload_can_be_written_to_a_file_and_started_without_ansible(tmp_path: Path) -> None:
    target = tmp_path / "payload"
    chosen = json.dumps(options_for(tmp_path, a_node(a_card())))
    script = MODULE_UTILS / "gpu_probe" / "payload.py"
    subprocess.run([sys.executable, script, "--write", target, "--options", chosen], check=True)
    boot = subprocess.run(
        [sys.executable, script, "--boot"], check=True, capture_output=True, text=True
    ).stdout
    with target.open("rb") as stream:
        done = subprocess.run(
            ["python3", "-c", boot], stdin=stream, capture_output=True, check=True, env=os.environ
        )
    assert len(answer_in(done.stdout)["cards"]) == 1


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"card_deadlines": 1}', "unknown option: card_deadlines"),
        (b'{"deadline_s": "soon"}', "deadline_s must be a number"),
        (b"[]", "not a JSON object"),
        (b"{", "Expecting"),
    ],
)
def test_options_that_are_wrong_are_refused_with_a_sentence(raw: bytes, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpu_probe"], input=raw, capture_output=True, cwd=MODULE_UTILS, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
