"""A loader without workers as it says of itself, to which a test changes what it is about."""

import msgspec.structs

from perftui.ipc.messages import LoaderFacts

LOADER = LoaderFacts(
    index=0,
    num_workers=0,
    batch_size=8,
    prefetch_factor=None,
    persistent_workers=False,
    pin_memory=False,
    multiprocessing_context=None,
    in_order=True,
    batches_per_epoch=1000,
    iterable=False,
    dataset="D",
)


def made_loader(**changes: object) -> LoaderFacts:
    return msgspec.structs.replace(LOADER, **changes)
