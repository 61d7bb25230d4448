#!/usr/bin/python
"""Documentation of the action plugin gpu_facts; the work is done in plugins/action/gpu_facts.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_facts
short_description: Read every GPU of a node into a facts document
version_added: "0.1.0"
author:
  - The Muster developers (@muster)
description:
  - Reads identity, firmware, modes, error counters, temperatures, power, clocks, links and users of every
    NVIDIA GPU of a node, and what belongs to the node around them, in one exec over the connection.
  - Leaves one C(facts/1) document per node in a spool directory on the controller, whether the node could
    be read or not. Every reading in it is a value, or unread with a reason; nothing unread is zero.
  - An option that the task does not give is taken from the host's variable of the name that
    C(playbooks/sweep.yml) lists, such as C(muster_spool) or C(muster_card_deadline).
  - Nothing is installed or left on the node but the lock file, and that only by root. The probe and the
    controller's pynvml travel with the task.
  - Every card is read in a process of its own with a deadline, so that one hung, lost or crashing card
    costs only its own readings.
  - Reading changes nothing, so check mode reads as well, and writes the spool on the controller.
  - Where GPU persistence is off, opening NVML initialises the GPUs and closing it lets their volatile
    state go. NVML is therefore held for a bounded time and under a shared lock on the node, which a reset
    or a firmware update takes for itself.
requirements:
  - Python 3.8 or later on the node; the NVIDIA driver for readings of cards.
  - nvidia-ml-py (pynvml) on the controller; where it is missing, the node's own is used.
options:
  spool:
    description:
      - Directory on the controller for the documents; made with mode 0700 where it does not exist.
      - Without it E(MUSTER_SPOOL) is used; else the spool that belongs to the ledger in E(MUSTER_LEDGER), for
        an SQLite ledger its file's path with C(.spool) behind it; else C(muster/spool) below
        E(XDG_STATE_HOME) or C(~/.local/state). C(muster ingest) looks for it by the same rule.
    type: path
  return_facts:
    description: Return the document as RV(facts) too. It may be large; the spool has it in any case.
    type: bool
    default: false
  expected_cards:
    description: How many cards the inventory says the node has; noted in the document.
    type: int
  pool:
    description: The pool the inventory puts the node in; noted in the document.
    type: str
  non_production:
    description: Whether the inventory calls the node a laboratory or test bench; noted in the document.
    type: bool
    default: false
  timeout_s:
    description:
      - Seconds after which the node is given up and recorded as timed out, whatever it does; 0 for never.
      - Without it O(deadline_s) and 30 more. It must be longer than O(deadline_s).
      - The task keyword C(timeout) takes its place where it is set.
    type: int
  deadline_s:
    description: Seconds in which the probe answers with what it has.
    type: float
    default: 30.0
  card_deadline_s:
    description: Seconds in which a card is read, and in which NVML opens.
    type: float
    default: 10.0
  log_since:
    description:
      - Read Xid and SXid lines of the kernel log since this time, in seconds since 1970. Earlier boots count,
        as far as the node keeps their log.
      - Without it since an hour before the log of this node was last read, which C(last_read) in the spool
        notes; since 31 days where it never was.
    type: float
  log_lines_max:
    description: At most so many lines of the kernel log, the newest.
    type: int
    default: 500
  lock_path:
    description: The lock file on the node that readers share and resets and firmware updates take alone.
    type: str
    default: /run/lock/muster-gpu.lock
  lock_wait_s:
    description: Seconds to wait while the lock is taken; then the cards are recorded as locked and not read.
    type: float
    default: 2.0
  root:
    description:
      - Read /proc, /sys, /etc and logs below this directory, and start no other program. For simulated
        nodes and tests.
    type: str
    default: /
  nvml_library:
    description:
      - Path of the NVML library on the node. Without it the loader's own search.
      - A file that ends in C(.py) is a simulated library; the document then says that it is simulated.
    type: str
  nvml_data:
    description: What the simulated library describes, a path on the node.
    type: str
  now:
    description: The time that the node's clock is taken to show, in seconds since 1970. For simulated nodes.
    type: float
attributes:
  check_mode:
    support: full
    description: Reading changes nothing on the node; the spool on the controller is written.
  diff_mode:
    support: none
    description: There is nothing to show a difference of.
  async:
    support: none
    description: The probe has its own deadline.
notes:
  - The document's node is the inventory's name for the host. What the node calls itself identifies nothing.
  - A task that uses C(delegate_to) is refused, because it would record another machine's cards.
  - Readings that need root (processes of others, parts of the kernel log) are unread without C(become).
  - Without C(become) the lock is shared only where its file is there and may be read, and NVML is read
    without it otherwise, which the document says.
  - A node that sends without end is cut off when its output takes 256 MB of the controller's memory.
"""

EXAMPLES = r"""
- name: Read every GPU of the node into the spool
  muster.gpu.gpu_facts:

- name: Read as root, and give a sick card less time
  muster.gpu.gpu_facts:
    card_deadline_s: 5
  become: true

- name: Read, and look at the first card at once
  muster.gpu.gpu_facts:
    spool: /var/lib/muster/spool
    return_facts: true
  register: gpu

- name: Show its temperature in degrees Celsius
  ansible.builtin.debug:
    msg: "{{ gpu.facts.cards[0].temperature.gpu_c }}"
"""

RETURN = r"""
spool_file:
  description: The document on the controller.
  type: str
  returned: always
  sample: /home/ops/.local/state/muster/spool/incoming/gpu-17-1764460800000-5f2ab09c11de.json
reach:
  description:
    - How reading the node went. V(ok); V(timed_out); V(no_python) where there is no Python 3.8 or later;
      V(unreadable) where the answer could not be used. The task fails where it is not V(ok).
    - An unreachable node is spooled with reach V(unreachable) and then counted by Ansible as unreachable.
  type: str
  returned: always
  sample: ok
cards:
  description: How many cards the document has, read or not.
  type: int
  returned: always
  sample: 8
took_ms:
  description: Milliseconds on the controller, connection included.
  type: int
  returned: always
  sample: 640
facts:
  description: The whole C(facts/1) document.
  type: dict
  returned: when O(return_facts) is true
"""
