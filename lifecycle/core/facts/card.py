"""The readings of one card, in groups split by how they change (see the tuples at the end)."""

from __future__ import annotations

from lifecycle.core.facts.reading import NOT_READ, Count, Flag, Group, Number, Text, Unread


class Identity(Group, frozen=True):
    """Who the card is, for life. `serial` is the board's: two GPUs of one board share it. Text always."""

    uuid: Text = NOT_READ
    serial: Text = NOT_READ
    name: Text = NOT_READ
    board_part_number: Text = NOT_READ
    architecture: Text = NOT_READ
    compute_capability: Text = NOT_READ
    module_id: Count = NOT_READ
    minor: Count = NOT_READ
    index: Count = NOT_READ


class Seat(Group, frozen=True):
    """Where the card sits; `pci` is written 0000:07:00.0."""

    pci: Text = NOT_READ


class Firmware(Group, frozen=True):
    vbios: Text = NOT_READ
    inforom_image: Text = NOT_READ
    inforom_oem: Text = NOT_READ
    inforom_ecc: Text = NOT_READ
    inforom_power: Text = NOT_READ
    gsp: Text = NOT_READ


class Modes(Group, frozen=True):
    """Switches of the card. ECC and MIG: `pending` is what the next reset brings."""

    persistence: Flag = NOT_READ
    ecc_current: Flag = NOT_READ
    ecc_pending: Flag = NOT_READ
    mig_current: Flag = NOT_READ
    mig_pending: Flag = NOT_READ
    compute: Text = NOT_READ


class Limits(Group, frozen=True):
    """Thresholds in °C, power limits in W, maximal clocks in MHz, PCIe maximum, memory size in bytes."""

    temperature_slowdown_c: Number = NOT_READ
    temperature_shutdown_c: Number = NOT_READ
    temperature_gpu_max_c: Number = NOT_READ
    temperature_memory_max_c: Number = NOT_READ
    power_limit_w: Number = NOT_READ
    power_default_w: Number = NOT_READ
    power_min_w: Number = NOT_READ
    power_max_w: Number = NOT_READ
    clock_sm_max_mhz: Count = NOT_READ
    clock_memory_max_mhz: Count = NOT_READ
    pcie_gen_max: Count = NOT_READ
    pcie_width_max: Count = NOT_READ
    memory_total_bytes: Count = NOT_READ


class ErrorCounts(Group, frozen=True):
    """ECC error counts since a point in time: of the driver load (volatile) or of the card's life."""

    dram_corrected: Count = NOT_READ
    dram_uncorrected: Count = NOT_READ
    sram_corrected: Count = NOT_READ
    sram_uncorrected: Count = NOT_READ
    total_corrected: Count = NOT_READ
    total_uncorrected: Count = NOT_READ


class Ecc(Group, frozen=True):
    """ECC counters. `volatile` restarts with every driver load; `aggregate` lives in the InfoROM."""

    volatile: ErrorCounts = ErrorCounts()
    aggregate: ErrorCounts = ErrorCounts()
    sram_threshold_exceeded: Flag = NOT_READ


class Remap(Group, frozen=True):
    """Row remapping (Ampere and later): remapped rows, and the bank availability histogram."""

    correctable: Count = NOT_READ
    uncorrectable: Count = NOT_READ
    pending: Flag = NOT_READ
    failure: Flag = NOT_READ
    banks_max: Count = NOT_READ
    banks_high: Count = NOT_READ
    banks_partial: Count = NOT_READ
    banks_low: Count = NOT_READ
    banks_none: Count = NOT_READ


class RetiredPages(Group, frozen=True):
    """Dynamic page retirement (Kepler to Turing): pages per cause."""

    single_bit: Count = NOT_READ
    double_bit: Count = NOT_READ
    pending: Flag = NOT_READ


class Health(Group, frozen=True):
    """What the driver says. `recovery`: none, reset, reboot, drain_p2p, drain_and_reset, … or a number."""

    recovery: Text = NOT_READ
    inforom_valid: Flag = NOT_READ


class Temperature(Group, frozen=True):
    """Degrees Celsius. `margin_c` counts down to the slowdown limit (T.Limit); below zero is over it."""

    gpu_c: Number = NOT_READ
    memory_c: Number = NOT_READ
    margin_c: Number = NOT_READ


class Power(Group, frozen=True):
    draw_w: Number = NOT_READ
    enforced_limit_w: Number = NOT_READ


class Clocks(Group, frozen=True):
    """Clocks in MHz; `reasons` are the names of the set clocks-event bits; counters in microseconds."""

    sm_mhz: Count = NOT_READ
    memory_mhz: Count = NOT_READ
    reasons: list[str] | Unread = NOT_READ
    reasons_raw: Count = NOT_READ
    power_violation_us: Count = NOT_READ
    thermal_violation_us: Count = NOT_READ
    sw_thermal_us: Count = NOT_READ
    hw_thermal_us: Count = NOT_READ
    hw_power_brake_us: Count = NOT_READ
    sw_power_cap_us: Count = NOT_READ


class Pcie(Group, frozen=True):
    """The link as it is now; an idle card may lower its generation by design."""

    gen: Count = NOT_READ
    width: Count = NOT_READ
    replays: Count = NOT_READ


class Link(Group, frozen=True):
    """One NVLink. `speed_mbps` is in MB/s as NVML gives it."""

    link: int
    active: Flag = NOT_READ
    speed_mbps: Count = NOT_READ
    replays: Count = NOT_READ
    recoveries: Count = NOT_READ
    crc_flit: Count = NOT_READ
    crc_data: Count = NOT_READ


class Fabric(Group, frozen=True):
    """NVSwitch fabric. `state`: not_supported, not_started, in_progress or completed."""

    state: Text = NOT_READ
    status: Text = NOT_READ
    clique: Text = NOT_READ
    cluster: Text = NOT_READ
    health_mask: Count = NOT_READ


class Memory(Group, frozen=True):
    """Bytes. `unaccounted_bytes`: used memory that no live process holds (leaked contexts)."""

    used_bytes: Count = NOT_READ
    free_bytes: Count = NOT_READ
    reserved_bytes: Count = NOT_READ
    unaccounted_bytes: Count = NOT_READ


class Process(Group, frozen=True):
    """A compute process. Its arguments are never read: they may hold secrets."""

    pid: int
    uid: Count = NOT_READ
    name: Text = NOT_READ
    job: Text = NOT_READ
    memory_bytes: Count = NOT_READ


class Utilisation(Group, frozen=True):
    """Percent over the driver's last sample period."""

    gpu_pct: Count = NOT_READ
    memory_pct: Count = NOT_READ


class CardRead(Group, frozen=True):
    """How reading this card went. `outcome`: ok, timed_out, crashed, lost, locked or not_opened."""

    outcome: str = "ok"
    took_ms: Count = NOT_READ
    detail: str = ""


class Card(Group, frozen=True):
    """Everything read from one card at one time."""

    identity: Identity = Identity()
    seat: Seat = Seat()
    firmware: Firmware = Firmware()
    modes: Modes = Modes()
    limits: Limits = Limits()
    ecc: Ecc = Ecc()
    remap: Remap = Remap()
    retired_pages: RetiredPages = RetiredPages()
    health: Health = Health()
    temperature: Temperature = Temperature()
    power: Power = Power()
    clocks: Clocks = Clocks()
    pcie: Pcie = Pcie()
    nvlink: list[Link] | Unread = NOT_READ
    fabric: Fabric = Fabric()
    memory: Memory = Memory()
    processes: list[Process] | Unread = NOT_READ
    utilisation: Utilisation = Utilisation()
    read: CardRead = CardRead()


STATIC_GROUPS = ("identity", "seat", "firmware", "modes", "limits")
MEMORY_GROUPS = ("ecc", "remap", "retired_pages", "health")
LIVE_GROUPS = (
    "temperature",
    "power",
    "clocks",
    "pcie",
    "nvlink",
    "fabric",
    "memory",
    "processes",
    "utilisation",
    "read",
)
