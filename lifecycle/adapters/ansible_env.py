"""The environment Ansible runs in: the user's own, plus what finding our collection needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_COLLECTIONS = "ANSIBLE_COLLECTIONS_PATH"
_USER_COLLECTIONS = "~/.ansible/collections:/usr/share/ansible/collections"


def ansible_env(checkout: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Variables to add to `env`. A word of the user's on any of them stands."""
    users = env.get(_COLLECTIONS, _USER_COLLECTIONS)
    added = {_COLLECTIONS: os.pathsep.join((str(checkout / ".collections"), users))}
    wanted = {
        "ANSIBLE_CONFIG": str(checkout / "ansible.cfg"),
        # Part of an inventory is no inventory: a node left out for a typo would never be missed.
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True",
    }
    return added | {name: value for name, value in wanted.items() if name not in env}
