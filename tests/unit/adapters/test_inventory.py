"""Inventories are read by Ansible itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifecycle.adapters.inventory import Expectation, check_exists, nodes_of
from lifecycle.core.errors import BadInventory

EXAMPLE = Path(__file__).resolve().parents[3] / "inventory" / "example"


def test_the_example_inventory_names_its_five_nodes() -> None:
    nodes = nodes_of(EXAMPLE, limit=None, env={})
    assert list(nodes) == [
        "gpu-01.example.net", "gpu-02.example.net", "gpu-03.example.net",
        "edge-1.example.net", "edge-2.example.net",
    ]  # fmt: skip


def test_a_limit_narrows_the_nodes() -> None:
    edge = Expectation(pool="infer", cards=4)
    assert nodes_of(EXAMPLE, limit="edge-*", env={}) == dict.fromkeys(
        ["edge-1.example.net", "edge-2.example.net"], edge
    )


def test_a_missing_inventory_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(BadInventory, match="does not exist") as caught:
        check_exists(tmp_path / "prod")
    assert "inventory/example" in caught.value.remedy


def test_an_inventory_ansible_cannot_parse_names_the_command_to_try(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("gpu_nodes: [this is: not an inventory")
    with pytest.raises(BadInventory, match="cannot read the inventory") as caught:
        nodes_of(tmp_path / "hosts.yml", limit=None, env={"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"})
    assert "ansible-inventory -i" in caught.value.remedy
