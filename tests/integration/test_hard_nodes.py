"""Nodes that are down, slow, incomplete, sick or hostile: each costs its own record and nothing else.

One sweep reads them all, beside two healthy ones; the tests look at what it left behind.
"""

from __future__ import annotations

import base64
import json
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests import nvml_double
from tests.integration.conftest import Muster
from tests.nodes import NodeSpec, gpu_node, healthy_cards, nodes, silent_node
from tests.nodes.gpu import DRIVER

pytestmark = pytest.mark.root

ANSWER_MARK = "MUSTER-ANSWER/1"
STOLEN = str(healthy_cards(1)[0]["uuid"])


def framed(body: bytes) -> str:
    """An answer whose frame is right, whatever is in it."""
    packed = base64.b64encode(zlib.compress(body))
    return f"\n{ANSWER_MARK} {len(packed)} {zlib.crc32(packed):08x}\n{packed.decode()}\n"


def probe_answer(**changes: Any) -> bytes:
    card = {
        "identity": {"uuid": "GPU-hostile", "serial": "1", "name": "NVIDIA A100-SXM4-80GB"},
        "seat": {"pci": "0000:07:00.0"},
    }
    answer = {"schema": "probe/1", "simulated": False, "probe": {"version": "0.1.0", "took_ms": 1}}
    return json.dumps({**answer, "host": {"claimed_hostname": "x"}, "cards": [card], **changes}).encode()


def liar(name: str, answer: str) -> NodeSpec:
    """A node whose python3 says `answer` to whatever it is asked."""
    return NodeSpec(
        name,
        files={
            "/usr/bin/python3": "#!/bin/sh\ncat > /dev/null\nexec cat /etc/answer\n",
            "/etc/answer": answer,
        },
        executable=frozenset({"/usr/bin/python3"}),
    )


def flooder() -> NodeSpec:
    return NodeSpec(
        "flood",
        files={"/usr/bin/python3": "#!/bin/sh\nhead -c 50000000 /dev/zero | tr '\\0' x\n"},
        executable=frozenset({"/usr/bin/python3"}),
    )


def sick(number: int, **fault: str | int | None) -> list[dict[str, str | int]]:
    """Two cards, of which the first has a fault."""
    first, second = (dict(card) for card in healthy_cards(number))
    merged = {**first, **fault}
    return [{key: value for key, value in merged.items() if value is not None}, second]


STOLEN_CARD = {
    "identity": {"uuid": STOLEN, "serial": "1650000010000", "name": "NVIDIA A100-SXM4-80GB"},
    "seat": {"pci": "0000:07:00.0"},
    "ecc": {"aggregate": {"dram_corrected": 999_999, "total_corrected": 999_999}},
    "remap": {"failure": True},
}
CLAIMED = {"claimed_hostname": "gpu-01"}
ESCAPES = "\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>\u202e"

SPECS = [
    gpu_node("gpu-01", healthy_cards(1)),
    gpu_node("gpu-02", healthy_cards(2)),
    NodeSpec("no-driver"),
    NodeSpec("no-python", absent=("/usr/bin/python3",)),
    gpu_node("nvml-hangs", healthy_cards(3), node_keys={"init": "hang"}),
    gpu_node("card-lost", sick(4, lost=1)),
    gpu_node("card-hangs", sick(5, hang="nvmlDeviceGetTemperature")),
    gpu_node("card-crashes", sick(6, crash="nvmlDeviceGetTemperature")),
    gpu_node("mismatch", healthy_cards(7), files={"/sys/module/nvidia/version": "535.104.05\n",
             "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05\n"}),
    flooder(),
    liar("thief", framed(probe_answer(node="gpu-01", host=CLAIMED, cards=[STOLEN_CARD]))),
    liar("deep", framed(b'{"schema":"probe/1","cards":' + b"[" * 100_000 + b"]" * 100_000 + b"}")),
    liar("nan", framed(probe_answer(probe={"version": "0.1.0", "took_ms": float("nan")}))),
    liar("types", framed(probe_answer(cards="all of them"))),
    liar("escapes", framed(probe_answer(host={"claimed_hostname": ESCAPES, "kernel": ESCAPES},
         cards=[{"identity": {"uuid": "GPU-" + ESCAPES, "name": ESCAPES, "serial": ESCAPES}}]))),
    liar("garbage", "hello\n" + ESCAPES + "\n"),
]  # fmt: skip
READ_WELL = {
    "gpu-01",
    "gpu-02",
    "no-driver",
    "nvml-hangs",
    "card-lost",
    "card-hangs",
    "card-crashes",
    "mismatch",
}


@dataclass
class Swept:
    """The sweep's exit code and words, the verdicts after it, and the documents it took in."""

    muster: Muster
    done: subprocess.CompletedProcess[str]
    verdicts: dict[str, Any]
    documents: dict[str, dict[str, Any]]

    def node(self, name: str) -> dict[str, Any]:
        return next(node for node in self.verdicts["nodes"] if node["node"] == name)

    def cards(self, name: str) -> dict[str, dict[str, Any]]:
        return {card["pci"]: card for card in self.verdicts["cards"] if card["node"] == name}

    def rules(self, name: str) -> set[str]:
        cards = self.cards(name).values()
        return {finding["rule"] for one in (self.node(name), *cards) for finding in one["findings"]}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    home = tmp_path_factory.mktemp("hard")
    with nodes(home / "fleet", SPECS) as fleet, silent_node("127.0.1.201") as silent:
        fleet.add_host("silent", silent.address, silent.port)
        fleet.add_host("down", "127.0.1.202", 2)
        fleet.write_inventory()
        muster = Muster(home, fleet)
        # The ledger knows the healthy ones before the others come.
        assert muster.run("sweep", "--limit", "gpu-01,gpu-02", inventory=fleet.inventory).returncode == 0
        # Then all, once by the playbook alone, to see the documents, and once as a user would.
        muster.playbook(fleet.inventory)
        documents = {document["node"]: document for document in muster.documents()}
        for path in (muster.spool / "incoming").iterdir():
            path.unlink()
        done = muster.run("sweep", "--deadline", "120", inventory=fleet.inventory)
        yield Swept(muster, done, muster.answer("judge"), documents)


def test_every_node_asked_has_a_record_and_the_healthy_ones_are_well(swept):
    asked = {spec.name for spec in SPECS} | {"silent", "down"}
    assert {node["node"] for node in swept.verdicts["nodes"]} == asked
    assert set(swept.documents) == asked
    assert swept.node("gpu-02")["verdict"] == "ok"
    for name in ("gpu-01", "gpu-02"):
        assert [card["verdict"] for card in swept.cards(name).values()] == ["ok", "ok"]


def test_the_sweep_asks_for_action_and_names_what_it_could_not_read(swept):
    assert swept.done.returncode == 1, swept.done.stderr
    for name in {spec.name for spec in SPECS} - READ_WELL | {"silent", "down"}:
        assert name in swept.done.stdout
    assert "Traceback" not in swept.done.stdout + swept.done.stderr


def test_a_node_that_is_down_is_unreachable(swept):
    assert swept.documents["down"]["reach"] == "unreachable"
    assert "refused" in swept.documents["down"]["reach_detail"]
    assert swept.node("down")["verdict"] == "unknown"


def test_a_node_that_takes_the_connection_and_never_speaks_is_given_up(swept):
    assert swept.documents["silent"]["reach"] in ("unreachable", "timed_out")
    assert swept.node("silent")["verdict"] == "unknown"


def test_a_node_without_python_says_so(swept):
    assert swept.documents["no-python"]["reach"] == "no_python"
    assert "Python 3.8" in swept.documents["no-python"]["reach_detail"]
    assert swept.node("no-python")["verdict"] == "unknown"


def test_a_node_without_the_driver_is_read_and_says_so(swept):
    document = swept.documents["no-driver"]
    assert document["reach"] == "ok"
    assert document["cards"] == []
    assert document["host"]["nvml_state"] == "library_missing"


def test_nvml_that_hangs_in_init_costs_the_cards_and_not_the_node(swept):
    document = swept.documents["nvml-hangs"]
    assert document["reach"] == "ok"
    assert document["host"]["nvml_state"] == "timed_out"
    assert document["host"]["kernel"], "what needs no NVML was read"
    assert len(document["host"]["pci_gpus"]) == 2, "the bus shows the cards that NVML hides"
    assert swept.node("nvml-hangs")["verdict"] not in ("ok", "watch")


@pytest.mark.parametrize(
    ("name", "outcome"), [("card-lost", "lost"), ("card-hangs", "timed_out"), ("card-crashes", "crashed")]
)
def test_a_sick_card_costs_its_own_readings_only(swept, name, outcome):
    sick_card, sound_card = swept.documents[name]["cards"]
    assert sick_card["read"]["outcome"] == outcome
    assert sound_card["read"]["outcome"] == "ok"
    assert sound_card["temperature"]["gpu_c"] == nvml_double.HEALTHY["temperature"]
    assert swept.cards(name)["0000:0b:00.0"]["verdict"] == "ok"


def test_a_lost_card_asks_for_action(swept):
    assert "card-lost" in swept.rules("card-lost")


def test_a_driver_that_differs_from_its_library_asks_for_a_reboot(swept):
    driver = swept.documents["mismatch"]["host"]["driver"]
    assert (driver["module"], driver["userspace"]) == ("535.104.05", DRIVER)
    assert swept.node("mismatch")["verdict"] == "reboot"


@pytest.mark.parametrize("name", ["flood", "deep", "nan", "types", "garbage"])
def test_an_answer_that_is_no_answer_is_unreadable(swept, name):
    assert swept.documents[name]["reach"] == "unreadable"
    assert len(json.dumps(swept.documents[name])) < 10_000, "the node's words are not kept"
    assert swept.node(name)["verdict"] == "unknown"
    assert not swept.cards(name)


def test_a_node_cannot_speak_for_another(swept):
    assert swept.documents["thief"]["node"] == "thief"
    stolen = [card for card in swept.verdicts["cards"] if card["uuid"] == STOLEN]
    judged = {card["node"]: card["verdict"] for card in stolen}
    assert judged == {"gpu-01": "ok", "thief": "rma"}, "each by its own node's readings alone"
    assert swept.documents["gpu-01"]["host"]["claimed_hostname"] == "gpu-01"


def test_two_nodes_that_show_one_card_are_both_named_and_the_card_is_not_blamed(swept):
    assert swept.rules("gpu-01") == {"uuid-claimed"}
    assert "uuid-claimed" in swept.rules("thief")
    assert swept.node("gpu-01")["verdict"] == "unknown"


def test_escapes_reach_neither_terminal_nor_page(swept, tmp_path):
    page = tmp_path / "page.html"
    assert swept.muster.run("report", "--html", str(page)).returncode == 0
    cards = swept.muster.run("cards")
    assert "owned" in cards.stdout, "the name is shown, made harmless"
    for said in (swept.done.stdout, cards.stdout, page.read_text()):
        assert not {"\x1b", "\x07", "\u202e"} & set(said)
    assert "<script>alert" not in page.read_text()
