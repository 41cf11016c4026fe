"""Every threshold of the analysis, with where it comes from. What they decide is in docs/profiling.md."""

LAUNCH_LATENCY_NS = 30_000
"""A gap behind the launch below this is the launch's latency, above it a dependency: the 30 of HTA's
`consecutive_kernel_delay`, whose code compares microseconds."""

SLOW_CALL_NS = 50_000
LONG_DELAY_NS = 100_000
"""HTA's `runtime_cutoff` and `launch_delay_cutoff`."""

QUEUE_FULL = 1000
"""The launch queue of CUDA holds about 1024; the next launch then blocks."""

# What the sentence says.

LOSS_LEADS = 0.2
"""From this share of the window on a loss is what the sentence is about: idle above 20 to 30 % means input
or launches, by the plugin of TensorBoard (which warns of a loader above 5 %, of communication above 10 %)."""

COMPUTE_BOUND = 0.8
"""From this share of computing on, without a loss that leads, the window is compute-bound."""

LAUNCH_BOUND_DELAY_US = 10.0
LAUNCH_BOUND_SHORT_SHARE = 0.5
"""Launch-bound: the median launch starts within 10 µs of its call, so nothing is queued, and half of the
launches do less than their call takes (HTA's "short kernels")."""

SMALL_COPIES = 16.0
SMALL_COPY_MIB = 0.25
"""Copies a step to the device, each so small that it costs its call: as the diagnosis has it
(`transfer.many_small`)."""

MANY_READS = 16
"""Reads of values a step, from which their own launches count: as for small copies to the device."""

# When a trace is not believed.

EARLY_NS = 1_000
EARLY_SHARE = 0.001
"""Device work that starts before its launch, beyond the microsecond to which old traces are rounded."""

UNLINKED_SHARE = 0.1
"""Device work without a launch in the trace, and idle time that such work ends. Windows that begin with a
deep queue have 11 to 26 % of the former and none of the latter."""

LOST_SHARE = 0.02
"""Launches of kernels without a kernel: records lost at the head of a session, or cut off at its end."""

DISTORTION_SEEN = 1.05
DISTORTION_BELIEVED = 1.2
"""Step time under the profiler over step time before it: from the first on the sentence speaks of the step as
it is without the profiler, above the second the check fails. A GPT of 19.7 ms a step on an H200, 95 % busy,
took 34 ms in its first window and looked 44 % idle."""

COMPLETE_STEPS = 2
COMPILING_SHARE = 0.01
SKEW_SHARE = 0.5
"""One communication kernel over this share of the window: the ranks started far apart."""

STRAGGLER_LAST_SHARE = 0.5
STRAGGLER_WAIT_SHARE = 0.05
"""A straggler comes last to half of the collectives, and the others wait 5 % of the window longer than it."""

# What the host does besides launching.

COMPUTING_NS = 100_000
"""An operator that launches nothing and takes this long computes on the CPU: views and allocations take some
10 µs under the profiler, calls that launch another 10."""

OUTSIDE_NS = 1_000_000
"""A stretch of this length outside of all operators is no part of launching: in it a host launches a hundred
kernels and more."""
