"""NVSwitch fabric: how far the card's registration with the fabric manager has come."""

from .attempts import Filled
from .values import count, from_code, is_unread, unread

PATHS = ("fabric.state", "fabric.status", "fabric.clique", "fabric.cluster", "fabric.health_mask")

# nvmlGpuFabricState_t (nvml.h).
_STATES = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}
ATTEMPTS = (
    Filled("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v3_t"),
    Filled("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v2_t"),
    Filled("nvmlDeviceGetGpuFabricInfo", "c_nvmlGpuFabricInfo_t"),
)


def read(device):
    """{path: value}; status, clique and cluster mean something only once registration is complete."""
    info = device.ask(ATTEMPTS)
    if is_unread(info):
        return {path: info for path in PATHS}
    state = _STATES.get(info.state, str(info.state))
    facts = dict.fromkeys(PATHS, unread("no_data", "the fabric state is " + state))
    facts["fabric.state"] = state
    if state == "completed":
        failure = from_code(info.status) if info.status else None
        facts["fabric.status"] = failure["detail"].lower() if failure else "success"
        facts["fabric.clique"] = str(info.cliqueId)
        facts["fabric.cluster"] = _uuid(bytes(info.clusterUuid))
    if state != "not_supported":
        mask = getattr(info, "healthMask", None)
        facts["fabric.health_mask"] = (
            unread("not_in_driver", "the driver has no fabric health mask") if mask is None else count(mask)
        )
    return facts


def _uuid(raw):
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
