"""Every case of the test bed.

The expected codes were decided by what each script does, before any rule was tuned.
"""

from tests.cases.case import Case
from tests.cases.of_compute import COMPUTE
from tests.cases.of_gpus import GPUS
from tests.cases.of_health import HEALTH
from tests.cases.of_input import INPUT
from tests.cases.of_later_gpus import LATER_GPUS
from tests.cases.of_later_others import LATER_OTHERS
from tests.cases.of_newer_gpus import NEWER_GPUS
from tests.cases.of_newer_others import NEWER_OTHERS
from tests.cases.of_other_gpus import OTHER_GPUS
from tests.cases.of_others import OTHERS
from tests.cases.of_ranks import RANKS
from tests.cases.of_the_run import OF_THE_RUN

CASES: tuple[Case, ...] = (
    *INPUT,
    *COMPUTE,
    *RANKS,
    *OF_THE_RUN,
    *HEALTH,
    *GPUS,
    *OTHERS,
    *OTHER_GPUS,
    *NEWER_OTHERS,
    *NEWER_GPUS,
    *LATER_OTHERS,
    *LATER_GPUS,
)
