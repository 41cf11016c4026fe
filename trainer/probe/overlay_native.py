"""The overlay for libraries whose native code opens files itself: torch and safetensors."""

import functools
import os
from collections.abc import Callable

from perftui.trainer.probe.border import Foreign
from perftui.trainer.probe.overlay import Overlay
from perftui.trainer.probe.overlay_patches import read_path, write_path

_Redirect = Callable[[Overlay, Foreign], Foreign]


def _redirected(
    original: Callable[..., Foreign], place: int, overlay: Overlay, redirect: _Redirect
) -> Foreign:
    """Wrap a function whose argument number `place` (or keyword `f`, `filename`) is a path."""

    @functools.wraps(original)
    def call(*args: Foreign, **kwargs: Foreign) -> Foreign:
        if len(args) > place and isinstance(args[place], (str, os.PathLike)):
            args = (*args[:place], redirect(overlay, args[place]), *args[place + 1 :])
        for name in ("f", "filename"):
            if isinstance(kwargs.get(name), (str, os.PathLike)):
                kwargs[name] = redirect(overlay, kwargs[name])
        return original(*args, **kwargs)

    return call


def patch_torch(torch: Foreign, overlay: Overlay) -> None:
    """Send `torch.save`, `torch.jit.save` and their readers through the overlay."""
    save = _redirected(torch.save, 1, overlay, write_path)
    load = _redirected(torch.load, 0, overlay, read_path)
    torch.save = torch.serialization.save = save
    torch.load = torch.serialization.load = load
    torch.jit.save = _redirected(torch.jit.save, 1, overlay, write_path)
    torch.jit.load = _redirected(torch.jit.load, 0, overlay, read_path)


def patch_safetensors(safetensors: Foreign, overlay: Overlay) -> None:
    """Send safetensors' writer and reader through the overlay; called before anything has imported them."""
    safetensors.serialize_file = _redirected(safetensors.serialize_file, 1, overlay, write_path)
    safetensors.safe_open = _redirected(safetensors.safe_open, 0, overlay, read_path)
