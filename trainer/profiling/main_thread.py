"""Has the main thread call something soon, between two of its bytecodes, as a signal's handler is called.

For a training that comes by none of the probe's hooks for minutes (a validation that reads no loader) while
a profiler records: only the thread that started the profiler can end it. No signal is used: a handler would
be in the script's way, and a signal breaks into system calls.
"""

import ctypes
from collections.abc import Callable

_Function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class MainThreadCall:
    """One function that the main thread can be made to call; it must not raise.

    Keep it for as long as the process lives: the interpreter may still hold its address.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self._asked = False

        def run(_argument: object) -> int:
            self._asked = False
            act()
            return 0

        self._function = _Function(run)

    def ask(self) -> None:
        """Ask for the call, from any thread; once until it has come."""
        if not self._asked:
            self._asked = True
            if ctypes.pythonapi.Py_AddPendingCall(self._function, None) != 0:
                self._asked = False  # the interpreter's list is full
