/* A stand-in for libnvidia-ml.so.1 with two GPUs. STAND_IN_NVML says how it behaves:
   good, garbage, hang (in utilisation), hang_at_start, no_driver, or fail:NAME (that call alone fails). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK 0
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define DRIVER_NOT_LOADED 9

typedef struct { unsigned gpu, memory; } rates_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_t;
typedef struct { unsigned version, sensor; int temperature; } temperature_t;

static const char *mode(void) {
    const char *set = getenv("STAND_IN_NVML");
    return set ? set : "good";
}

static int is(const char *name) { return strcmp(mode(), name) == 0; }

static int failing(const char *call) { return strncmp(mode(), "fail:", 5) == 0 && strcmp(mode() + 5, call) == 0; }

static void hang(void) { for (;;) sleep(1000); }

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

int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    if (strcmp(uuid, "GPU-aaaa") == 0) *handle = (void *)1;
    else if (strcmp(uuid, "GPU-bbbb") == 0) *handle = (void *)2;
    else return NOT_FOUND;
    return OK;
}

int nvmlDeviceGetName(void *handle, char *name, unsigned length) {
    if (failing("name")) return NOT_SUPPORTED;
    snprintf(name, length, is("garbage") ? "\xff\xfe" : "Stand-in %ld", (long)handle);
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *handle, rates_t *rates) {
    if (is("hang")) hang();
    if (failing("utilisation")) return NOT_SUPPORTED;
    rates->gpu = is("garbage") ? 4000000000u : 40 + (unsigned)(long)handle;
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

int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) {
    if (failing("power")) return NOT_SUPPORTED;
    *milliwatts = is("garbage") ? 4294967295u : 321500;
    return OK;
}

int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *milliwatts) {
    if (failing("limit")) return NOT_SUPPORTED;
    *milliwatts = is("garbage") ? 4294967295u : 700000;
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

int nvmlDeviceGetClockInfo(void *handle, int type, unsigned *mhz) {
    if (failing("clock")) return NOT_SUPPORTED;
    *mhz = is("garbage") ? 4294967295u : 1980;
    return OK;
}
