"""fastai: loaders that are no DataLoader, over iterators of torch; optimizers that are its own."""

import pytest

from .checks import (
    assert_checkpoints,
    assert_counts,
    assert_validations,
    assert_waits,
)
from .conftest import Watched
from .needed import needs
from .seen import Seen

pytestmark = needs("fastai")

SCRIPT = """
from functools import partial
import fastai.callback.progress
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader as FastLoader
from fastai.learner import Learner
from fastai.optimizer import SGD, OptimWrapper

class Items(Data):
    # fastai asks for one sample after the other
    def __getitem__(self, index):
        if index % 4 == 0:
            Data.last = (self.kind, perf_counter_ns())
        time.sleep(0.002 * (1 + index // 4 % 3))
        return classified(index)

class Stamps(Callback):
    def before_train(self):
        stamp("epochs")
    def after_step(self):
        stamp("steps")
    def before_validate(self):
        self.validation = Timed("validations")
        self.validation.__enter__()
    def after_validate(self):
        self.validation.__exit__()

def loss(outputs, labels):
    return slow(nn.functional.cross_entropy(outputs, labels))

loaders = [FastLoader(Items(count, kind), bs=4, create_batch=collate, num_workers=0)
           for count, kind in ((32, "training"), (12, "validation"))]
learner = Learner(
    DataLoaders(*loaders),
    nn.Linear(8, 2),
    loss_func=loss,
    opt_func=SGD if options.get("own_optimizer") else partial(OptimWrapper, opt=torch.optim.SGD),
    cbs=[Stamps()],
    path=".",
)
with learner.no_bar(), learner.no_logging():
    learner.fit(2, 0.1)
    with Timed("saves"):
        learner.save("last")
tell()
"""


@pytest.fixture(scope="module")
def own_optimizer(watched: Watched) -> Seen:
    return watched.run(SCRIPT, {"own_optimizer": True})


def test_without_an_optimizer_of_torch_steps_are_bounded_by_the_loader(own_optimizer: Seen) -> None:
    assert own_optimizer.rank()["boundary"] == "loader"
    assert_counts(own_optimizer, [1] * 16)
    assert_waits(own_optimizer)


def test_an_optimizer_that_was_not_seen_has_no_time(own_optimizer: Seen) -> None:
    assert own_optimizer.rank()["shares"]["optimizer"] is None


def test_events_before_the_boundary_is_known_carry_the_right_step(own_optimizer: Seen) -> None:
    assert_checkpoints(own_optimizer)
    assert_validations(own_optimizer)


def test_a_setting_is_applied_to_loaders_that_are_not_torchs_or_refused(watched: Watched) -> None:
    seen = watched.run(SCRIPT, setting="loader.num_workers=2")
    assert (seen.owns[0].workers == 2) != ("loader.num_workers" in seen.rank()["settings_failed"])
