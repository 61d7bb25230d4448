/*
 * A small libnvidia-ml.so.1 for tests: the real pynvml loads it with CDLL, as it loads NVIDIA's.
 *
 * What it answers stands in a text file, named by the environment variable MUSTER_DOUBLE_DATA or else
 * /etc/muster-double.conf: lines of `key=value`, first for the node, then after each line `[card]` for one
 * card. A key that is absent answers NOT_SUPPORTED. Keys are listed in __init__.py. Calls that are not here
 * are missing on purpose, as they are in an older driver.
 *
 * Signatures and numbers: nvml.h, API version 13.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9, CORRUPTED_INFOROM = 14, GPU_IS_LOST = 15, ARGUMENT_VERSION_MISMATCH = 25
};
enum { CARDS_MAX = 16, PAIRS_MAX = 96, KEY_MAX = 48, VALUE_MAX = 128, LINE_MAX_ = 256 };

typedef unsigned long long u64;
typedef struct { char key[KEY_MAX], value[VALUE_MAX]; } Pair;
typedef struct { Pair pairs[PAIRS_MAX]; unsigned count, index; } Section;

static Section node, cards[CARDS_MAX];
static unsigned card_count, clients;

static const char *find(const Section *section, const char *key)
{
    for (unsigned i = 0; i < section->count; i++)
        if (!strcmp(section->pairs[i].key, key))
            return section->pairs[i].value;
    return NULL;
}

static int add(Section *section, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals || equals - line >= KEY_MAX || strlen(equals + 1) >= VALUE_MAX || section->count == PAIRS_MAX)
        return -1;
    *equals = '\0';
    Pair *pair = &section->pairs[section->count++];
    strcpy(pair->key, line);
    strcpy(pair->value, equals + 1);
    return 0;
}

static int load(void)
{
    const char *path = getenv("MUSTER_DOUBLE_DATA");
    FILE *stream = fopen(path ? path : "/etc/muster-double.conf", "r");
    char line[LINE_MAX_];
    Section *section = &node;
    if (!stream)
        return DRIVER_NOT_LOADED;
    memset(&node, 0, sizeof node);
    memset(cards, 0, sizeof cards);
    card_count = 0;
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!line[0] || line[0] == '#')
            continue;
        if (!strcmp(line, "[card]") && card_count < CARDS_MAX) {
            section = &cards[card_count];
            section->index = card_count++;
        } else if (add(section, line)) {
            fclose(stream);
            return DRIVER_NOT_LOADED;
        }
    }
    fclose(stream);
    return SUCCESS;
}

static int number(const Section *section, const char *key, u64 *value)
{
    const char *text = find(section, key);
    if (!text)
        return NOT_SUPPORTED;
    *value = strtoull(text, NULL, 0);
    return SUCCESS;
}

static int small(const Section *section, const char *key, unsigned *value)
{
    u64 wide;
    int code = number(section, key, &wide);
    if (code == SUCCESS)
        *value = (unsigned)wide;
    return code;
}

static int text(const Section *section, const char *key, char *buffer, unsigned size)
{
    const char *value = find(section, key);
    if (!value)
        return NOT_SUPPORTED;
    if (strlen(value) >= size)
        return INSUFFICIENT_SIZE;
    strcpy(buffer, value);
    return SUCCESS;
}

/* The card behind a handle, after its faults: lost, hang and crash name what they do, or the call. */
static int enter(void *handle, const char *call, const Section **card)
{
    Section *found = handle;
    const char *fault;
    if (!clients)
        return UNINITIALIZED;
    if (found < cards || found >= cards + card_count)
        return INVALID_ARGUMENT;
    if (find(found, "lost"))
        return GPU_IS_LOST;
    if ((fault = find(found, "hang")) && !strcmp(fault, call))
        for (;;)
            pause();
    if ((fault = find(found, "crash")) && !strcmp(fault, call))
        abort();
    *card = found;
    return SUCCESS;
}

#define ENTER(handle)                                            \
    const Section *card;                                         \
    int entered = enter(handle, __func__, &card);                \
    if (entered != SUCCESS)                                      \
        return entered

#define TEXT(call, key)                                          \
    int call(void *handle, char *buffer, unsigned size)          \
    {                                                            \
        ENTER(handle);                                           \
        return text(card, key, buffer, size);                    \
    }

#define NUMBER(call, key)                                        \
    int call(void *handle, unsigned *value)                      \
    {                                                            \
        ENTER(handle);                                           \
        return small(card, key, value);                          \
    }

#define PAIR(call, first_key, second_key)                        \
    int call(void *handle, unsigned *first, unsigned *second)    \
    {                                                            \
        ENTER(handle);                                           \
        int code = small(card, first_key, first);                \
        return code == SUCCESS ? small(card, second_key, second) : code; \
    }

#define CHOSEN(call, ...)                                        \
    int call(void *handle, unsigned chosen, unsigned *value)     \
    {                                                            \
        static const char *const keys[] = {__VA_ARGS__};         \
        ENTER(handle);                                           \
        if (chosen >= sizeof keys / sizeof *keys)                \
            return INVALID_ARGUMENT;                             \
        return small(card, keys[chosen], value);                 \
    }

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    int code = load();
    const char *trouble = find(&node, "init");
    if (code != SUCCESS)
        return code;
    if (trouble && !strcmp(trouble, "hang"))
        for (;;)
            pause();
    if (trouble)
        return atoi(trouble);
    clients++;
    return SUCCESS;
}

int nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

int nvmlShutdown(void)
{
    if (!clients)
        return UNINITIALIZED;
    clients--;
    return SUCCESS;
}

const char *nvmlErrorString(int code)
{
    static char words[64];
    snprintf(words, sizeof words, "NVML double error %d", code);
    return words;
}

int nvmlSystemGetDriverVersion(char *buffer, unsigned size)
{
    return clients ? text(&node, "driver", buffer, size) : UNINITIALIZED;
}

int nvmlSystemGetNVMLVersion(char *buffer, unsigned size)
{
    return clients ? text(&node, "nvml", buffer, size) : UNINITIALIZED;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return clients ? small(&node, "cuda", (unsigned *)version) : UNINITIALIZED;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = card_count;
    return clients ? SUCCESS : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    if (!clients)
        return UNINITIALIZED;
    if (index >= card_count)
        return INVALID_ARGUMENT;
    if (find(&cards[index], "lost"))
        return GPU_IS_LOST;
    *handle = &cards[index];
    return SUCCESS;
}

int nvmlDeviceGetIndex(void *handle, unsigned *index)
{
    ENTER(handle);
    *index = card->index;
    return SUCCESS;
}

TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetBoardPartNumber, "board_part_number")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom_image")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetModuleId, "module_id")
NUMBER(nvmlDeviceGetArchitecture, "architecture")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetPowerUsage, "power_mw")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "enforced_limit_mw")
NUMBER(nvmlDeviceGetPowerManagementLimit, "limit_mw")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "default_limit_mw")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_gen")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_gen_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max")
NUMBER(nvmlDeviceGetPcieReplayCounter, "replays")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pending")
PAIR(nvmlDeviceGetCudaComputeCapability, "cc_major", "cc_minor")
PAIR(nvmlDeviceGetEccMode, "ecc_current", "ecc_pending")
PAIR(nvmlDeviceGetMigMode, "mig_current", "mig_pending")
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "limit_min_mw", "limit_max_mw")
CHOSEN(nvmlDeviceGetTemperature, "temperature")
CHOSEN(nvmlDeviceGetTemperatureThreshold, "shutdown", "slowdown", "memory_max", "gpu_max")
CHOSEN(nvmlDeviceGetClockInfo, "clock_graphics", "clock_sm", "clock_memory")
CHOSEN(nvmlDeviceGetMaxClockInfo, "clock_graphics_max", "clock_sm_max", "clock_memory_max")

int nvmlDeviceGetCurrentClocksEventReasons(void *handle, u64 *reasons)
{
    ENTER(handle);
    return number(card, "reasons", reasons);
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned *rates)
{
    ENTER(handle);
    int code = small(card, "util_gpu", &rates[0]);
    return code == SUCCESS ? small(card, "util_memory", &rates[1]) : code;
}

int nvmlDeviceValidateInforom(void *handle)
{
    unsigned valid = 0;
    ENTER(handle);
    int code = small(card, "inforom_valid", &valid);
    return code != SUCCESS ? code : valid ? SUCCESS : CORRUPTED_INFOROM;
}

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
} PciInfo;

int nvmlDeviceGetPciInfo_v3(void *handle, PciInfo *info)
{
    unsigned function;
    ENTER(handle);
    const char *pci = find(card, "pci");
    memset(info, 0, sizeof *info);
    if (!pci || sscanf(pci, "%x:%x:%x.%x", &info->domain, &info->bus, &info->device, &function) != 4)
        return NOT_SUPPORTED;
    snprintf(info->legacy, sizeof info->legacy, "%04X:%02X:%02X.%X", info->domain & 0xffff, info->bus & 0xff,
             info->device & 0xff, function & 0xf);
    snprintf(info->address, sizeof info->address, "%08X:%02X:%02X.%X", info->domain, info->bus & 0xff,
             info->device & 0xff, function & 0xf);
    small(card, "pci_device_id", &info->id);
    small(card, "pci_subsystem_id", &info->subsystem);
    return SUCCESS;
}

/* Key of an ECC counter: ecc_<volatile|aggregate>_<dram|sram>_<corrected|uncorrected>. */
static int ecc(const Section *card, unsigned kind, unsigned counter, const char *place, u64 *count)
{
    char key[KEY_MAX];
    if (kind > 1 || counter > 1)
        return INVALID_ARGUMENT;
    snprintf(key, sizeof key, "ecc_%s_%s_%s", counter ? "aggregate" : "volatile", place,
             kind ? "uncorrected" : "corrected");
    return number(card, key, count);
}

int nvmlDeviceGetMemoryErrorCounter(void *handle, unsigned kind, unsigned counter, unsigned location, u64 *count)
{
    ENTER(handle);
    if (location != 2 && location != 7)
        return NOT_SUPPORTED;
    return ecc(card, kind, counter, location == 2 ? "dram" : "sram", count);
}

int nvmlDeviceGetTotalEccErrors(void *handle, unsigned kind, unsigned counter, u64 *count)
{
    u64 dram = 0, sram = 0;
    ENTER(handle);
    int code = ecc(card, kind, counter, "dram", &dram);
    if (code != SUCCESS)
        return code;
    ecc(card, kind, counter, "sram", &sram);
    *count = dram + sram;
    return SUCCESS;
}

int nvmlDeviceGetRemappedRows(void *handle, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                              unsigned *failure)
{
    ENTER(handle);
    int code = small(card, "remap_correctable", corrected);
    if (code != SUCCESS)
        return code;
    *uncorrected = *pending = *failure = 0;
    small(card, "remap_uncorrectable", uncorrected);
    small(card, "remap_pending", pending);
    small(card, "remap_failure", failure);
    return SUCCESS;
}

int nvmlDeviceGetRowRemapperHistogram(void *handle, unsigned *banks)
{
    static const char *const keys[] = {"banks_max", "banks_high", "banks_partial", "banks_low", "banks_none"};
    ENTER(handle);
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        int code = small(card, keys[i], &banks[i]);
        if (code != SUCCESS)
            return code;
    }
    return SUCCESS;
}

typedef struct { u64 total, free, used; } Memory;
typedef struct { unsigned version; u64 total, reserved, free, used; } MemoryV2;
enum { MEMORY_V2 = 0x02000028 };

static int memory(const Section *card, MemoryV2 *info)
{
    int code = number(card, "memory_total", &info->total);
    if (code != SUCCESS)
        return code;
    info->reserved = info->used = 0;
    number(card, "memory_reserved", &info->reserved);
    number(card, "memory_used", &info->used);
    info->free = info->total - info->reserved - info->used;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *handle, Memory *info)
{
    MemoryV2 wide;
    ENTER(handle);
    int code = memory(card, &wide);
    if (code == SUCCESS)
        *info = (Memory){wide.total, wide.free, wide.used + wide.reserved};
    return code;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, MemoryV2 *info)
{
    ENTER(handle);
    return info->version == MEMORY_V2 ? memory(card, info) : ARGUMENT_VERSION_MISMATCH;
}

typedef struct { unsigned pid; u64 memory; unsigned instance, compute; } Process;

/* One process per card at most: process_pid and process_memory. */
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, Process *processes)
{
    unsigned pid, room = *count;
    ENTER(handle);
    *count = small(card, "process_pid", &pid) == SUCCESS;
    if (!*count)
        return SUCCESS;
    if (!processes || room < 1)
        return INSUFFICIENT_SIZE;
    *processes = (Process){pid, 0, 0xffffffff, 0xffffffff};
    number(card, "process_memory", &processes->memory);
    return SUCCESS;
}

typedef struct {
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type, code;
    union { double real; u64 wide; long long whole; } value;
} FieldValue;
enum { TYPE_U64 = 3 };

/* Fields stand in the file by number: field_<number>=<value>. */
int nvmlDeviceGetFieldValues(void *handle, int count, FieldValue *values)
{
    char key[KEY_MAX];
    ENTER(handle);
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "field_%u", values[i].field);
        values[i].type = TYPE_U64;
        values[i].code = (unsigned)number(card, key, &values[i].value.wide);
    }
    return SUCCESS;
}
