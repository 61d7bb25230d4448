"""NVLink: the links a card has, their state, speed and error counters."""

from .attempts import Call, Field
from .binding import pynvml
from .values import count, flag, is_unread, unread

_ERRORS = "nvmlDeviceGetNvLinkErrorCounter"


def read(device):
    """A list with one entry per link, or unread where the card has none.

    Links that a card lacks answer as not supported or as an invalid argument and are left out.
    """
    found, last = [], unread("not_supported")
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        state = device.ask((Call("nvmlDeviceGetNvLinkState", link),))
        if is_unread(state) and state["unread"] in ("not_supported", "not_in_driver", "no_data"):
            last = state if link == 0 else last
            continue
        found.append(_link(device, link, state))
    return found or last


def _link(device, link, state):
    def fact(form, *attempts):
        raw = device.ask(attempts)
        return raw if is_unread(raw) else form(raw)

    return {
        "link": link,
        "active": state if is_unread(state) else flag(state),
        "speed_mbps": fact(count, Field("NVML_FI_DEV_NVLINK_GET_SPEED", link)),
        "replays": fact(count, Call(_ERRORS, link, "NVML_NVLINK_ERROR_DL_REPLAY")),
        # Blackwell counts recoveries in a field of its own and no longer in the older counter.
        "recoveries": fact(
            count,
            Call(_ERRORS, link, "NVML_NVLINK_ERROR_DL_RECOVERY"),
            Field("NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS", link),
        ),
        "crc_flit": fact(count, Call(_ERRORS, link, "NVML_NVLINK_ERROR_DL_CRC_FLIT")),
        "crc_data": fact(count, Call(_ERRORS, link, "NVML_NVLINK_ERROR_DL_CRC_DATA")),
    }
