"""What is read from a card: a table from the fact's path to how it is asked.

Each row: the paths it fills, the attempts in their order (newer call first; an older one is tried where
the driver does not know the newer), and the form that turns each raw value into a fact. `needs_ecc`
marks what ECC off makes `disabled`; `mig_hides` what NVML does not answer while MIG is on.
"""

from collections import namedtuple

from .attempts import Call, Field, Filled, Length, Member, Part, Passes, Sum, Twice
from .values import count, flag, number, scaled, serial, signed, text, whole_scaled

Reading = namedtuple("Reading", "paths attempts form needs_ecc mig_hides")

# nvmlDeviceArchitecture_t (nvml.h).
_ARCHITECTURES = {
    2: "kepler",
    3: "maxwell",
    4: "pascal",
    5: "volta",
    6: "turing",
    7: "ampere",
    8: "ada",
    9: "hopper",
    10: "blackwell",
    13: "rubin",
}
# nvmlComputeMode_t (nvml.h).
_COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
# nvmlDeviceGpuRecoveryAction_t (nvml.h).
_RECOVERY = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain_p2p",
    4: "drain_and_reset",
    5: "recover_imex_domain",
    6: "bus_reset",
    7: "system_reboot",
}
# nvmlClocksEventReason* (nvml.h); 0x200 and 0x400 are older drivers' board limit and reliability.
_REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}

watts = scaled(1000.0)  # NVML gives milliwatts
microseconds = whole_scaled(1000)  # NVML's violation times are nanoseconds


def named(table):
    """A form that gives a number its name, or the number as text where the table is older than the driver."""

    def form(raw):
        whole = count(raw)
        return whole if isinstance(whole, dict) else table.get(whole, str(whole))

    return form


def capability(raw):
    major, minor = raw
    return "%d.%d" % (major, minor)


def reason_names(raw):
    """The names of the set clocks-event bits; an unknown bit as hexadecimal text."""
    mask = count(raw)
    if isinstance(mask, dict):
        return mask
    return [_REASONS.get(1 << bit, hex(1 << bit)) for bit in range(mask.bit_length()) if mask >> bit & 1]


def pci(raw):
    return "%04x:%02x:%02x.0" % raw


def _one(path, form, *attempts, **marks):
    return _many((path,), form, *attempts, **marks)


def _many(paths, form, *attempts, **marks):
    """Several paths take the parts of one answer in order, each through the form."""
    return Reading(paths, attempts, form, marks.get("needs_ecc", False), marks.get("mig_hides", False))


_BY_PLACE = "nvmlDeviceGetMemoryErrorCounter"
# Before Turing there is no SRAM location; these are the memories that it sums up since.
_SRAM_PARTS = ("L1_CACHE", "L2_CACHE", "REGISTER_FILE", "TEXTURE_MEMORY", "TEXTURE_SHM", "CBU")


def _ecc_rows(era, kind, sram_members):
    """Errors by location; `era` and `kind` are the words of the paths and, in capitals, of NVML's names."""
    error = "NVML_MEMORY_ERROR_TYPE_" + kind.upper()
    counter = "NVML_%s_ECC" % era.upper()
    at = "ecc.%s.%%s_%s" % (era, kind)
    parts = ["NVML_MEMORY_LOCATION_" + part for part in _SRAM_PARTS]
    return (
        _one(
            at % "dram", count, Call(_BY_PLACE, error, counter, "NVML_MEMORY_LOCATION_DRAM"), needs_ecc=True
        ),
        _one(
            at % "sram",
            count,
            Call(_BY_PLACE, error, counter, "NVML_MEMORY_LOCATION_SRAM"),
            Filled("nvmlDeviceGetSramEccErrorStatus", "c_nvmlEccSramErrorStatus_v1_t", *sram_members),
            Sum(*[Call(_BY_PLACE, error, counter, part) for part in parts]),
            needs_ecc=True,
        ),
        _one(at % "total", count, Call("nvmlDeviceGetTotalEccErrors", error, counter), needs_ecc=True),
    )


def _threshold(path, kind):
    return _one(path, number, Call("nvmlDeviceGetTemperatureThreshold", "NVML_TEMPERATURE_THRESHOLD_" + kind))


def _inforom(path, kind):
    return _one(path, text, Call("nvmlDeviceGetInforomVersion", "NVML_INFOROM_" + kind))


def _violation(path, policy):
    """Time under a performance policy: one call, or the field of the same number in nvml.h."""
    return _one(
        path,
        microseconds,
        Member("nvmlDeviceGetViolationStatus", ("NVML_PERF_POLICY_" + policy,), "violationTime"),
        Field("NVML_FI_DEV_PERF_POLICY_" + policy),
    )


READINGS = (
    _one("identity.uuid", text, Call("nvmlDeviceGetUUID")),
    _one("seat.pci", pci, Member("nvmlDeviceGetPciInfo_v3", (), "domain", "bus", "device")),
    _one("identity.serial", serial, Call("nvmlDeviceGetSerial")),
    _one("identity.name", text, Call("nvmlDeviceGetName")),
    _one("identity.board_part_number", text, Call("nvmlDeviceGetBoardPartNumber")),
    _one("identity.architecture", named(_ARCHITECTURES), Call("nvmlDeviceGetArchitecture")),
    _one("identity.compute_capability", capability, Call("nvmlDeviceGetCudaComputeCapability")),
    _one("identity.module_id", count, Call("nvmlDeviceGetModuleId")),
    _one("identity.minor", count, Call("nvmlDeviceGetMinorNumber")),
    _one("identity.index", count, Call("nvmlDeviceGetIndex")),
    _one("modes.persistence", flag, Call("nvmlDeviceGetPersistenceMode")),
    _many(("modes.ecc_current", "modes.ecc_pending"), flag, Call("nvmlDeviceGetEccMode")),
    _many(("modes.mig_current", "modes.mig_pending"), flag, Call("nvmlDeviceGetMigMode")),
    _one("modes.compute", named(_COMPUTE_MODES), Call("nvmlDeviceGetComputeMode")),
    *_ecc_rows("volatile", "corrected", ("volatileCor",)),
    *_ecc_rows("volatile", "uncorrected", ("volatileUncParity", "volatileUncSecDed")),
    *_ecc_rows("aggregate", "corrected", ("aggregateCor",)),
    *_ecc_rows("aggregate", "uncorrected", ("aggregateUncParity", "aggregateUncSecDed")),
    _one(
        "ecc.sram_threshold_exceeded",
        flag,
        Filled("nvmlDeviceGetSramEccErrorStatus", "c_nvmlEccSramErrorStatus_v1_t", "bThresholdExceeded"),
        needs_ecc=True,
    ),
    _one("remap.correctable", count, Part("nvmlDeviceGetRemappedRows", 0), mig_hides=True),
    _one("remap.uncorrectable", count, Part("nvmlDeviceGetRemappedRows", 1), mig_hides=True),
    _one("remap.pending", flag, Part("nvmlDeviceGetRemappedRows", 2), mig_hides=True),
    _one("remap.failure", flag, Part("nvmlDeviceGetRemappedRows", 3), mig_hides=True),
    _many(
        ("remap.banks_max", "remap.banks_high", "remap.banks_partial", "remap.banks_low", "remap.banks_none"),
        count,
        Member("nvmlDeviceGetRowRemapperHistogram", (), "max", "high", "partial", "low", "none"),
        mig_hides=True,
    ),
    _one(
        "retired_pages.single_bit",
        count,
        Length("nvmlDeviceGetRetiredPages", "NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS"),
    ),
    _one(
        "retired_pages.double_bit",
        count,
        Length("nvmlDeviceGetRetiredPages", "NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR"),
    ),
    _one("retired_pages.pending", flag, Call("nvmlDeviceGetRetiredPagesPendingStatus")),
    _one("health.recovery", named(_RECOVERY), Field("NVML_FI_DEV_GET_GPU_RECOVERY_ACTION")),
    _one("health.inforom_valid", flag, Passes("nvmlDeviceValidateInforom", "NVML_ERROR_CORRUPTED_INFOROM")),
    _one(
        "temperature.gpu_c",
        signed,
        Call("nvmlDeviceGetTemperatureV", "NVML_TEMPERATURE_GPU"),
        Call("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU"),
    ),
    _one("temperature.memory_c", number, Field("NVML_FI_DEV_MEMORY_TEMP")),
    _one("temperature.margin_c", signed, Call("nvmlDeviceGetMarginTemperature")),
    _one("power.draw_w", watts, Call("nvmlDeviceGetPowerUsage")),
    _one("power.enforced_limit_w", watts, Call("nvmlDeviceGetEnforcedPowerLimit")),
    _one("clocks.sm_mhz", count, Call("nvmlDeviceGetClockInfo", "NVML_CLOCK_SM")),
    _one("clocks.memory_mhz", count, Call("nvmlDeviceGetClockInfo", "NVML_CLOCK_MEM")),
    _many(
        ("clocks.reasons_raw", "clocks.reasons"),
        (count, reason_names),
        Twice("nvmlDeviceGetCurrentClocksEventReasons"),
        Twice("nvmlDeviceGetCurrentClocksThrottleReasons"),
    ),
    _violation("clocks.power_violation_us", "POWER"),
    _violation("clocks.thermal_violation_us", "THERMAL"),
    _one("clocks.sw_thermal_us", microseconds, Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN")),
    _one("clocks.hw_thermal_us", microseconds, Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN")),
    _one(
        "clocks.hw_power_brake_us",
        microseconds,
        Field("NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN"),
    ),
    # The event reason's counter has the number of the performance policy that it replaces.
    _one("clocks.sw_power_cap_us", microseconds, Field("NVML_FI_DEV_PERF_POLICY_POWER")),
    _one("pcie.gen", count, Call("nvmlDeviceGetCurrPcieLinkGeneration")),
    _one("pcie.width", count, Call("nvmlDeviceGetCurrPcieLinkWidth")),
    _one("pcie.replays", count, Call("nvmlDeviceGetPcieReplayCounter")),
    _one("utilisation.gpu_pct", count, Member("nvmlDeviceGetUtilizationRates", (), "gpu")),
    _one("utilisation.memory_pct", count, Member("nvmlDeviceGetUtilizationRates", (), "memory")),
    _one("firmware.vbios", text, Call("nvmlDeviceGetVbiosVersion")),
    _one("firmware.inforom_image", text, Call("nvmlDeviceGetInforomImageVersion")),
    _inforom("firmware.inforom_oem", "OEM"),
    _inforom("firmware.inforom_ecc", "ECC"),
    _inforom("firmware.inforom_power", "POWER"),
    _one("firmware.gsp", text, Call("nvmlDeviceGetGspFirmwareVersion")),
    _threshold("limits.temperature_slowdown_c", "SLOWDOWN"),
    _threshold("limits.temperature_shutdown_c", "SHUTDOWN"),
    _threshold("limits.temperature_gpu_max_c", "GPU_MAX"),
    _threshold("limits.temperature_memory_max_c", "MEM_MAX"),
    _one("limits.power_limit_w", watts, Call("nvmlDeviceGetPowerManagementLimit")),
    _one("limits.power_default_w", watts, Call("nvmlDeviceGetPowerManagementDefaultLimit")),
    _many(
        ("limits.power_min_w", "limits.power_max_w"),
        watts,
        Call("nvmlDeviceGetPowerManagementLimitConstraints"),
    ),
    _one("limits.clock_sm_max_mhz", count, Call("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_SM")),
    _one("limits.clock_memory_max_mhz", count, Call("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_MEM")),
    _one("limits.pcie_gen_max", count, Call("nvmlDeviceGetMaxPcieLinkGeneration")),
    _one("limits.pcie_width_max", count, Call("nvmlDeviceGetMaxPcieLinkWidth")),
)
