"""Updates of a hub as a dashboard gets them, made from a few figures."""

from perftui.ipc.dashboard_messages import Update
from perftui.ipc.settings import SettingValue
from perftui.ipc.view import Header, HostView, RankHistory, RankView, RunState, RunView


def rank_view(
    rank: int,
    steps: int,
    settings: dict[str, SettingValue] | None = None,
    failed: dict[str, str] | None = None,
    loss: tuple[int, float] | None = None,
) -> RankView:
    return RankView(
        rank=rank,
        host="h",
        pid=1,
        state="training",
        age_s=0.0,
        device="cpu",
        gpu_uuid=None,
        world_size=1,
        steps=steps,
        epoch=0,
        boundary="optimizer",
        window_steps=steps,
        samples_per_s=100.0,
        settings=settings or {},
        settings_failed=failed or {},
        losses=[loss] if loss else [],
    )


def history(rank: int, first: int, wall_ms: list[float], flags: list[int] | None = None) -> RankHistory:
    return RankHistory(
        rank=rank,
        first_step=first,
        stride=1,
        wall_ms=wall_ms,
        wait_ms=[0.0] * len(wall_ms),
        flags=flags or [0] * len(wall_ms),
    )


def update(
    ranks: list[RankView],
    parts: list[RankHistory],
    state: RunState = "training",
    message: str | None = None,
    host: HostView | None = None,
) -> Update:
    header = Header(
        run_id="r",
        name="r",
        host="h",
        command=["x"],
        state=state,
        started_unix=0.0,
        elapsed_s=1.0,
        message=message,
    )
    view = RunView(header=header, ranks=ranks, hosts=[host] if host else [])
    return Update(number=1, snapshot=False, view=view, history=parts)
