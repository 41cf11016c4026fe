/* A stand-in for libnvidia-ml.so.1 with sixteen GPUs (GPU-aaaa to GPU-pppp) and one MIG instance (MIG-wwww).

   STAND_IN_NVML says how it behaves, or names a file (a path from the root) that says so and may change:
     good | garbage | sentinels | hang_at_start | no_driver | no_gpm | gpm_lost | backwards | xid | idle
     fail:NAME (that call alone fails) | hang:NAME (that call alone does not come back)
   More words after the first one are the processes on each GPU: PID, or PID:MIB.

   Counters rise with the monotonic clock: (300 + 10 n) W on the n-th GPU; power-capped for a quarter of the
   time, too hot for a tenth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OK 0
#define NOT_SUPPORTED 3
#define NO_PERMISSION 4
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define DRIVER_NOT_LOADED 9
#define TIMEOUT 10
#define MIG_BASE 0x100
#define U32 4294967295u
#define U64 18446744073709551615ull
#define HBM_SENTINEL 9223372036854775794ull

typedef unsigned long long u64;
typedef struct { unsigned gpu, memory; } rates_t;
typedef struct { unsigned version; u64 total, reserved, free, used; } memory_t;
typedef struct { unsigned version, sensor; int temperature; } temperature_t;
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { void *device; u64 type, data; unsigned gpu_instance, compute_instance; } event_t;
typedef struct { unsigned field, scope; long long timestamp, latency; int type, result; u64 value; } field_t;
typedef struct { unsigned id; int result; double value; char *texts[3]; } metric_t;
typedef struct { unsigned version, count; void *before, *after; metric_t metrics[]; } metrics_t;
typedef struct { unsigned version, supported; } support_t;

static char said[4096];

static const char *behaviour(void) {
    const char *set = getenv("STAND_IN_NVML");
    snprintf(said, sizeof said, "%s", set ? set : "good");
    FILE *file = said[0] == '/' ? fopen(said, "r") : NULL;
    if (file) {
        if (!fgets(said, sizeof said, file)) said[0] = 0;
        fclose(file);
        said[strcspn(said, "\n")] = 0;
    }
    return said;
}

static int begins(const char *with, const char *rest) {
    const char *is = behaviour();
    size_t length = strlen(with), more = strlen(rest);
    return !strncmp(is, with, length) && !strncmp(is + length, rest, more) &&
           (is[length + more] == 0 || is[length + more] == ' ');
}

static int is(const char *name) { return begins("", name); }

static void hang(void) { for (;;) sleep(1000); }

/* Every call comes by here: returns whether it is to fail. */
static int failing(const char *call) {
    if (begins("hang:", call)) hang();
    return begins("fail:", call);
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec * 1e-9;
}

static long number(void *handle) { return (long)handle % MIG_BASE; }

/* A counter that rises, or in the mode `backwards` loses more than it gained, at every other reading. */
static double counted(double per_s, unsigned *readings) {
    return is("backwards") && (*readings)++ % 2 ? 1.0 : now() * per_s;
}

int nvmlInitWithFlags(unsigned flags) {
    if (is("hang_at_start")) hang();
    return is("no_driver") ? DRIVER_NOT_LOADED : OK;
}

int nvmlShutdown(void) { return OK; }

const char *nvmlErrorString(int code) {
    switch (code) {
    case NOT_SUPPORTED: return "Not Supported";
    case NOT_FOUND: return "Not Found";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    snprintf(version, length, "999.1");
    return OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    if (failing("handle")) return NOT_SUPPORTED;
    if (!strcmp(uuid, "MIG-wwww")) { *handle = (void *)(long)(MIG_BASE + 3); return OK; }
    if (strlen(uuid) != 8 || strncmp(uuid, "GPU-", 4) || uuid[4] < 'a' || uuid[4] > 'p') return NOT_FOUND;
    *handle = (void *)(long)(uuid[4] - 'a' + 1);
    return OK;
}

/* By number only a benchmark asks, for the GPUs that there are: two. */
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    *handle = (void *)(long)(index + 1);
    return OK;
}

int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length) {
    char letter = (char)('a' + number(handle) - 1);
    snprintf(uuid, length, "GPU-%c%c%c%c", letter, letter, letter, letter);
    return OK;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *handle, void **board) {
    *board = (void *)number(handle);
    return OK;
}

int nvmlDeviceGetGpuInstanceId(void *handle, unsigned *id) { *id = 7; return OK; }

int nvmlDeviceGetName(void *handle, char *name, unsigned length) {
    if (failing("name")) return NOT_SUPPORTED;
    snprintf(name, length, is("garbage") ? "\xff\xfe" : "Stand-in %ld", number(handle));
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, rates_t *rates) {
    if (failing("utilisation")) return NOT_SUPPORTED;
    rates->gpu = is("garbage") ? 4000000000u : is("idle") ? 0 : 40 + (unsigned)number(handle);
    rates->memory = 0;
    return OK;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_t *memory) {
    if (failing("memory")) return NOT_SUPPORTED;
    memory->total = 1024ull << 20;
    memory->reserved = 24ull << 20;
    memory->used = is("garbage") ? 1ull << 62 : 256ull << 20;
    memory->free = 0;
    return OK;
}

static int milliwatts(const char *call, unsigned *out, unsigned value) {
    if (failing(call)) return NOT_SUPPORTED;
    *out = is("garbage") ? U32 : value;
    return OK;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned *out) { return milliwatts("power", out, 321500); }

int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *out) { return milliwatts("limit", out, 700000); }

int nvmlDeviceGetTotalEnergyConsumption(void *handle, u64 *millijoules) {
    if (failing("energy")) return NOT_SUPPORTED;
    static unsigned readings;
    double per_s = (300 + 10 * number(handle)) * 1e3;
    *millijoules = is("garbage") || is("sentinels") ? U64 : (u64)counted(per_s, &readings);
    return OK;
}

int nvmlDeviceGetTemperatureV(void *handle, temperature_t *temperature) {
    if (failing("temperature") || is("fail:new_temperature")) return NOT_SUPPORTED;
    temperature->temperature = is("garbage") ? 1000000 : 61;
    return OK;
}

int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *celsius) {
    if (failing("temperature")) return NOT_SUPPORTED;
    *celsius = 59;
    return OK;
}

static int mhz(const char *call, unsigned *out, unsigned value) {
    if (failing(call)) return NOT_SUPPORTED;
    *out = is("garbage") ? U32 : value;
    return OK;
}

int nvmlDeviceGetClockInfo(void *handle, int type, unsigned *out) {
    return type == 1 ? mhz("clock", out, 1755) : mhz("memory_clock", out, 3201);
}

int nvmlDeviceGetMaxClockInfo(void *handle, int type, unsigned *out) { return mhz("max_clock", out, 1980); }

int nvmlDeviceGetCurrentClocksEventReasons(void *handle, u64 *mask) {
    if (failing("reasons")) return NOT_SUPPORTED;
    *mask = is("garbage") ? 1ull << 40 : 0x4 | 0x20 | 0x800;
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, process_t *found) {
    if (failing("processes")) return NOT_SUPPORTED;
    unsigned room = found ? *count : 0;
    *count = 0;
    if (is("garbage")) {
        if (room) { found[0].pid = U32; found[0].used = 0; }
        *count = 1;
        return room ? OK : INSUFFICIENT_SIZE;
    }
    behaviour();
    char *rest, *word = strtok_r(said, " ", &rest);
    while ((word = strtok_r(NULL, " ", &rest))) {
        if (*count < room) {
            char *size = strchr(word, ':');
            found[*count].pid = (unsigned)atoi(word);
            found[*count].used = size ? (u64)atoi(size + 1) << 20 : U64;
        }
        ++*count;
    }
    return *count > room ? INSUFFICIENT_SIZE : OK;
}

static int link_figure(const char *call, unsigned *out, unsigned value) {
    if (failing(call)) return NOT_SUPPORTED;
    *out = is("garbage") ? 4000000000u : value;
    return OK;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *handle, unsigned *out) {
    return link_figure("generation", out, is("idle") ? 1 : 4);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *handle, unsigned *out) {
    return link_figure("generation_max", out, 5);
}

int nvmlDeviceGetCurrPcieLinkWidth(void *handle, unsigned *out) { return link_figure("width", out, 8); }

int nvmlDeviceGetMaxPcieLinkWidth(void *handle, unsigned *out) { return link_figure("width_max", out, 16); }

int nvmlDeviceGetPcieThroughput(void *handle, int counter, unsigned *out) { abort(); }

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    if (failing("mig")) return NOT_SUPPORTED;
    *current = *pending = is("garbage") ? 77 : (long)handle >= MIG_BASE;
    return OK;
}

static u64 field_value(unsigned field) {
    static unsigned capped, heated;
    switch (field) {
    case 74: return (u64)counted(0.25e9, &capped);
    case 269: return (u64)counted(0.1e9, &heated);
    case 82: return 77;
    case 143: return 2;
    case 197: return (u64)(now() * 100 * 1048576);
    case 198: return (u64)(now() * 200 * 1048576);
    case 138: return (u64)(now() * 300 * 1024);
    case 139: return (u64)(now() * 400 * 1024);
    default: return 0; /* never throttled, no error, nothing pending */
    }
}

int nvmlDeviceGetFieldValues(void *handle, int count, field_t *fields) {
    if (failing("fields")) return NOT_SUPPORTED;
    for (int i = 0; i < count; i++) {
        fields[i].type = 3;
        fields[i].latency = 1;
        fields[i].result = fields[i].field == 270 && is("fail:one_field") ? NOT_SUPPORTED : OK;
        fields[i].value = is("garbage") || is("sentinels") ? (fields[i].field == 82 ? HBM_SENTINEL : U64)
                                                           : field_value(fields[i].field);
    }
    return OK;
}

int nvmlEventSetCreate(void **events) {
    if (failing("events")) return NOT_SUPPORTED;
    *events = calloc(1, sizeof(int));
    return OK;
}

int nvmlDeviceRegisterEvents(void *handle, u64 types, void *events) {
    return failing("register") ? NOT_SUPPORTED : OK;
}

int nvmlEventSetWait_v2(void *events, event_t *event, unsigned timeout_ms) {
    int *told = events;
    if (failing("wait")) return NOT_SUPPORTED;
    if (!is("xid") || *told) return TIMEOUT;
    *told = 1;
    event->type = 8;
    event->data = 79;
    return OK;
}

int nvmlGpmQueryDeviceSupport(void *handle, support_t *support) {
    if (failing("gpm_support")) return NOT_SUPPORTED;
    support->supported = !is("no_gpm");
    return OK;
}

int nvmlGpmSampleAlloc(void **sample) { *sample = malloc(8); return OK; }

int nvmlGpmSampleFree(void *sample) { free(sample); return OK; }

int nvmlGpmSampleGet(void *handle, void *sample) {
    if (failing("gpm_sample") || (long)handle >= MIG_BASE) return NOT_SUPPORTED; /* as older libraries do */
    return is("gpm_lost") ? NO_PERMISSION : OK;
}

int nvmlGpmMigSampleGet(void *board, unsigned instance, void *sample) { return instance == 7 ? OK : NOT_FOUND; }

int nvmlGpmMetricsGet(metrics_t *metrics) {
    if (failing("gpm_metrics")) return NOT_SUPPORTED;
    for (unsigned i = 0; i < metrics->count; i++) {
        metric_t *metric = &metrics->metrics[i];
        metric->result = metric->id == 3 && is("fail:one_metric") ? NOT_SUPPORTED : OK;
        metric->value = is("garbage") ? 1e9 : is("sentinels") ? NAN : metric->id;
    }
    return OK;
}
