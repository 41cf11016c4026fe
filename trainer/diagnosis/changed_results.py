"""What to say beside advice that changes the arithmetic or the data of a training: its result is another one.

A test holds every remedy to this whose advice speaks of doing something more rarely, on fewer numbers, with
another batch or in another precision.
"""

LESS_WORK = (
    "this changes the result where something is computed in another way, more rarely or on fewer numbers: "
    "compare the loss"
)
MORE_RARELY = (
    "what the loss or the weights depend on has to stay in every step: done more rarely, it changes the "
    "result, so compare the loss"
)
OTHER_BATCH = "another batch size is another training: the learning rate has to follow"
OTHER_PRECISION = "another precision changes the result: compare the loss"
BATCH_OR_PRECISION = f"{OTHER_BATCH}; {OTHER_PRECISION}"
