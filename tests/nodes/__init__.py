"""Real nodes for tests: a Debian tree per node, its own hostname, /etc, processes and sshd, on loopback.

`nodes()` makes a few separate ones, `crowd()` makes one sshd answer for hundreds of addresses, and
`silent_node()` is a port that takes connections and never says a word. All need root and end with their
`with` block, whatever happens inside it.
"""

from __future__ import annotations

from tests.nodes.fleet import Fleet, SilentNode, crowd, nodes, silent_node
from tests.nodes.gpu import gpu_crowd, gpu_node, healthy_cards
from tests.nodes.node import Node, NodeSpec
from tests.nodes.tree import base_tree

__all__ = [
    "Fleet",
    "Node",
    "NodeSpec",
    "SilentNode",
    "base_tree",
    "crowd",
    "gpu_crowd",
    "gpu_node",
    "healthy_cards",
    "nodes",
    "silent_node",
]
