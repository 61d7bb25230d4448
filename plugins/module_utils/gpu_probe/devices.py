"""GPUs as the PCI bus lists them, whatever the driver says: NVML not seeing a card does not remove it."""

from .files import exists, link_name, names, read_text
from .values import count, is_unread, unread

_BUS = "/sys/bus/pci/devices"
_VENDOR = "0x10de"  # NVIDIA's PCI vendor number
_CLASSES = ("0x0300", "0x0302")  # VGA and 3D controllers
_SWITCHES = 512  # far above the GPUs of one node; bounds the list


def pci_gpus(root):
    """One entry per NVIDIA display or 3D controller, or unread where the bus cannot be listed."""
    if not exists(root, _BUS):
        return unread("no_data", "no " + _BUS)
    found = []
    for address in names(root, _BUS):
        base = "%s/%s/" % (_BUS, address)
        if read_text(root, base + "vendor") != _VENDOR:
            continue
        if str(read_text(root, base + "class"))[:6] in _CLASSES:
            found.append(_entry(root, base, address))
    return found[:_SWITCHES]


def _entry(root, base, address):
    return {
        "pci": address.lower(),
        "device": read_text(root, base + "device"),
        "driver": link_name(root, base + "driver") or unread("no_data", "no driver bound"),
        "link_width_max": _whole(root, base + "max_link_width"),
        "link_speed_max": read_text(root, base + "max_link_speed"),
        "numa_node": _whole(root, base + "numa_node"),
    }


def _whole(root, path):
    answer = read_text(root, path)
    if is_unread(answer):
        return answer
    try:
        number = int(answer)
    except ValueError:
        return unread("unparseable", answer[:40])
    return unread("no_data", "answered -1") if number == -1 else count(number)
