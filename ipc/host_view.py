"""What the hub tells of a host and of the loader workers on it; part of `view`, apart for its size.

Rates cover the time since the reading before. What each figure means, where it comes from and how it misleads
is in `docs/telemetry.md`; `None` is "not measured", with the reason in `missing`.
"""

from typing import Literal, TypeAlias

import msgspec

FoundBy: TypeAlias = Literal["told", "name", "kin"]
"""told: by the rank; name: torch named the process; kin: a multiprocessing child of the rank, which a worker
is, and which something else may be."""


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of time (0-1) since the reading before in which tasks stood still for want of one resource."""

    source: Literal["cgroup", "host", "iowait"]
    """cgroup, host: whose tasks. iowait: the kernel keeps no pressure figures; this is the share of CPU time
    that was idle while a disk was waited for, which shrinks when the CPUs find other work."""
    some: float | None = None
    """At least one task waited."""
    full: float | None = None
    """All that had work to do waited at once."""


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One loader worker when it was last looked at (`HostView.workers_age_s`)."""

    rank: int
    pid: int
    start_ticks: int
    """With the pid it names the process for good."""
    found_by: FoundBy
    number: int | None = None
    """Its number in its loader, where the rank tells it."""
    gone: bool = False
    """It has ended since the last look; it is not shown again."""
    state: str = ""
    """One letter of its main thread: R running, S sleeping, D waiting for a device, T stopped."""
    alive_s: float | None = None
    cpu_share: float | None = None
    """CPU time of all its threads over wall time: above 1 when several are busy."""
    cpu_wait_share: float | None = None
    """Share of time in which its main thread was ready to run and got no core."""
    io_wait_share: float | None = None
    """Share of time in which its main thread waited for a block device; few kernels account for that."""
    blocked_share: float | None = None
    """Share of looks, one a second over the last ten, that found its main thread in state D."""
    waits_for_socket: bool | None = None
    """Its main thread slept at the look until a socket had something for it."""
    waits_for_lock: bool | None = None
    """Its main thread slept at the look until another process let go of a lock, or of one on a file."""
    rss_mib: float | None = None
    """Resident memory; pages shared with the rank or among workers count in each of them."""
    shared_mib: float | None = None
    """Of these, pages of files and of shared memory."""
    private_mib: float | None = None
    """What it shares with nobody, and has written to; of one worker a rank alone, and not at each look."""
    minor_faults_per_s: float | None = None
    major_faults_per_s: float | None = None
    """Page faults that had to wait for storage."""
    read_mib_s: float | None = None
    """By read calls, whether storage, page cache, pipe or socket answered."""
    storage_read_mib_s: float | None = None
    """What it made storage deliver; network and FUSE file systems count only in part."""
    threads: int | None = None
    threads_running: int | None = None
    """Threads that ran or were ready to at the look."""
    cores: int | None = None
    """CPUs of its affinity mask."""
    missing: dict[str, str] = {}


class LoaderWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """The living loader workers of one rank, taken together."""

    count: int
    age_s: float
    """Since they were looked at."""
    running: int = 0
    """In state R at the look."""
    blocked: int = 0
    """In state D at the look."""
    gone: int = 0
    """Ended since the look before."""
    threads: int = 0
    cpu_share: float | None = None
    """Mean over the workers: cores busy with each."""
    cpu_share_max: float | None = None
    """Of the busiest."""
    cpu_wait_share: float | None = None
    """Mean, as all shares below."""
    io_wait_share: float | None = None
    blocked_share: float | None = None
    socket_share: float | None = None
    """Of looks that found the main thread waiting for a socket."""
    lock_share: float | None = None
    """Of looks that found the main thread waiting for another process to let go of a lock."""
    rss_mib: float | None = None
    """Sum, as all amounts below; shared pages are in it several times."""
    major_faults_per_s: float | None = None
    read_mib_s: float | None = None
    storage_read_mib_s: float | None = None
    found_by: FoundBy = "name"
    """The least certain of them: told, name, kin."""


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """One host."""

    name: str
    age_s: float
    """Of the figures read each second."""
    cpus: float | None = None
    """Effective: affinity and cgroup quota taken into account."""
    cpu_busy: float | None = None
    """Cores busy, all processes."""
    run_busy: float | None = None
    """Cores busy with this run's processes."""
    load_1m: float | None = None
    pressure_share: float | None = None
    """Share of the last 10 s in which some task of the host waited for a CPU (PSI)."""
    memory_used_mib: float | None = None
    """Without what the kernel gives back when asked."""
    memory_total_mib: float | None = None
    """The cgroup's limit where there is one (`memory_scope`), else the host's."""
    shm_free_mib: float | None = None
    gpu_note: str | None = None
    """Why there are no GPU figures, when there are none."""
    sampler_cpu_share: float | None = None
    """CPU time of these readings over wall time, in the hub; mean of the last ten seconds."""
    cores: float | None = None
    """Cores of the ranks' affinity masks, over which `cpu_busy` counts; a quota may leave `cpus` lower."""
    missing: dict[str, str] = {}
    """Why a figure is None."""
    others_busy: float | None = None
    """Cores busy with what is not this run's: `cpu_busy` less `run_busy`."""
    system_busy: float | None = None
    """Cores busy in the kernel; part of `cpu_busy`."""
    stolen: float | None = None
    """Cores that the hypervisor gave to somebody else; part of `cpu_busy`."""
    runnable: int | None = None
    """Tasks of the host that ran or were ready to at the reading."""
    throttled_share: float | None = None
    """Share of the CPU quota's periods in which the quota was used up and tasks were held back."""
    throttled_cores: float | None = None
    """CPUs on which the quota held tasks back, on average over time."""
    pressure_cpu: Pressure | None = None
    pressure_memory: Pressure | None = None
    pressure_io: Pressure | None = None
    run_processes: int | None = None
    run_threads: int | None = None
    """Threads of the run's processes, busy or not."""
    slow_age_s: float | None = None
    """Of the figures below up to the workers, which are read less often."""
    memory_scope: Literal["cgroup", "host"] | None = None
    """Whose limit binds."""
    oom_kills: int | None = None
    """Processes of the cgroup killed for want of memory since the first reading."""
    swap_used_mib: float | None = None
    swap_in_mib_s: float | None = None
    swap_out_mib_s: float | None = None
    refault_mib_s: float | None = None
    """File pages that had to be read again soon after the kernel had dropped them: the cache is too small."""
    shm_total_mib: float | None = None
    disk_read_mib_s: float | None = None
    """Block devices of the host, all processes; network file systems are not among them."""
    disk_write_mib_s: float | None = None
    disk_read_ms: float | None = None
    """Mean time that a read took, in the queue and on the device."""
    disk_busy_share: float | None = None
    """Share of time with a request under way, of the busiest device; for SSDs no measure of load."""
    network_in_mib_s: float | None = None
    """Network interfaces without the loopback; what bypasses the kernel (RDMA) is not seen."""
    network_out_mib_s: float | None = None
    run_read_mib_s: float | None = None
    """Read calls of the run's processes, whether storage, page cache, pipe or socket answered."""
    run_storage_read_mib_s: float | None = None
    """What the run's processes made storage deliver."""
    run_storage_write_mib_s: float | None = None
    cached_read_share: float | None = None
    """Estimate over ten seconds: share of what loaders read that did not come from storage."""
    workers_age_s: float | None = None
    """Of the workers' figures; None: nobody has looked for workers yet."""
    workers: list[WorkerView] = []
    """By rank, then by age; those of one reading that did not look again are those of the reading before."""
    cpus_online: int | None = None
    """CPUs that the run's control groups leave it, of those that are switched on: an affinity mask may leave
    fewer."""
    cpus_given: int | None = None
    """CPUs of the affinity mask that the run was started with: fewer than `cpus_online` where a batch system
    or taskset bound the command itself, rather than something in the script its processes."""
    gpus_present: int | None = None
    """NVIDIA and AMD GPUs that the kernel's drivers know, whether a rank uses them or not."""
