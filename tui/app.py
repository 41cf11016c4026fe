"""The dashboard's composition root: themes, keys, and the way from the reader thread to the screens.

It knows nothing of training; it hands states down and commands to the link.
"""

from perftui.ipc.dashboard_link import LeadAddress, new_command_id
from perftui.ipc.dashboard_messages import (
    CancelCommand,
    Command,
    Question,
    SeekCommand,
)
from perftui.tui.config.settled import DEFAULT, Config
from perftui.tui.explaining_app import CHANGING, ExplainingApp
from perftui.tui.format import clean
from perftui.tui.glyphs import Glyphs, glyphs_of_this_terminal
from perftui.tui.keys import EVERYWHERE
from perftui.tui.link import HubLink
from perftui.tui.messages import (
    CommandAnswered,
    CommandDone,
    LinkFailed,
    RankFollowed,
    StateChanged,
)
from perftui.tui.report_shelf import ReportShelf
from perftui.tui.screens.ask import CANCEL_WORDS
from perftui.tui.screens.help import HelpScreen, Where
from perftui.tui.screens.overview import OverviewScreen
from perftui.tui.screens.profile import ProfileScreen
from perftui.tui.screens.run_screen import RunScreen
from perftui.tui.state import DashboardState, asks_for_workers, closed, going_on, open_window, run_of
from perftui.tui.terminal import require_terminal
from perftui.tui.time_app import TIME_ACTIONS
from perftui.tui.time_keys import TimeKeys, paused
from perftui.tui.window_keys import WindowKeys


class DashboardApp(ExplainingApp):
    """A view of one run, and a keyboard; `read_only`: that changes nothing."""

    BINDINGS = EVERYWHERE

    def __init__(
        self,
        run_id: str,
        glyphs: Glyphs | None = None,
        *,
        read_only: bool = False,
        config: Config = DEFAULT,
        lead: LeadAddress | None = None,
        recorded: bool = False,
    ) -> None:
        super().__init__(glyphs, config, read_only=read_only)
        if not recorded:
            back = "perftui" if lead is None else "the same command again"
            self.when_killed = f"The dashboard was killed; the training goes on. Back to it: {back}"
        self.live = DashboardState(run_id=run_id, keys=self.key_names)
        self._closed_relaunch: str | None = None
        self._asked: dict[str, str] = {}
        self._shelf = ReportShelf()
        self._overview = OverviewScreen(self.glyphs, run_id, config.panels)
        pulls, keys = config.updates_per_s, self.key_names
        self._link = HubLink(run_id, self.post_message, pulls, keys, lead, read_only=read_only)
        self.time = TimeKeys(self.command)
        show, glyphs = self._show_next_window, self.glyphs
        self._window_keys = WindowKeys(self, glyphs, self.can_change, self.command, show)

    def on_mount(self) -> None:
        """Begin to listen to the hub, to signals and to the terminal's end."""
        self.push_screen(self._overview)
        self.watch_terminal()
        self._link.start()

    def on_unmount(self) -> None:
        """Let go of the hub."""
        self._link.close()

    def on_state_changed(self, message: StateChanged) -> None:
        """Take over the newest state."""
        before, self.live = self.live, closed(message.state, self._closed_relaunch)
        self.time.heard(message.past)
        if before.run_id != self.live.run_id:
            self.time = TimeKeys(self.command)
            self.notify(f"following the run on: {clean(self.live.run_id)}", markup=False)
        elif _restarts(self.live) > _restarts(before) and before.header is not None:
            self.notify("reconnected: the run's hub was restarted, the training goes on")
        self._shelf.note(self.live.profiles)
        self.when_due(self.show_run)
        if _offered(before) != _offered(self.live) or before.header is None:
            self.refresh_bindings()

    def show_run(self) -> None:
        """Show every screen the run, as it is now or was then."""
        state, note = self.time.shown(self.live), self.time.note(self.live)
        for screen in self.screen_stack:
            if isinstance(screen, RunScreen):
                screen.show(state, self.live, note)

    def on_state_wanted(self) -> None:
        """Show the state on a screen that has come up."""
        self.show_run()

    def send_to_hub(self, question: Question) -> None:
        """Hand it to the reader thread."""
        self._link.send(question)

    def command(self, command: Command, what: str) -> None:
        """Send a command, unless nothing may be changed from here."""
        if self.read_only and not isinstance(command, SeekCommand):
            self.notify(f"{what}: read-only, this dashboard changes nothing", markup=False)
            return
        self._asked[command.command_id] = what
        self._link.send(command, run_of(self.live))

    def on_command_answered(self, message: CommandAnswered) -> None:
        """Say when a command was declined, and why."""
        answer = message.answer
        if not self.took_answer(answer) and not answer.accepted:
            what = self._asked.pop(answer.command_id, "command")
            reason = clean(answer.reason or "declined without a reason")
            self.notify(f"{what}: {reason}", severity="warning", markup=False)

    def on_command_done(self, message: CommandDone) -> None:
        """Say when a command has failed."""
        if self.took_done(message.done):
            return
        what = self._asked.pop(message.done.command_id, "command")
        if not message.done.ok:
            self.notify(f"{what}: {clean(message.done.result)}", severity="warning", markup=False)

    def on_link_failed(self, message: LinkFailed) -> None:
        """Say why nothing more will come."""
        self.notify(clean(message.reason), severity="error", timeout=3600, markup=False)

    def on_rank_followed(self, message: RankFollowed) -> None:
        """Have all told about the rank that is looked at, and about the overview's."""
        self._link.look_closer(tuple(sorted({message.rank, self._overview.rank})))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Offer only what there is: a relaunch, a window to end, another time; no change if read-only."""
        if self.read_only and action in CHANGING:
            return False
        if action in TIME_ACTIONS:
            return self.goes_through_time(action)
        there = {"close_relaunch": self.live.relaunch, "end_profile": open_window(self.live)}
        return there.get(action, action) is not None

    def can_change(self) -> bool:
        """Tell a person why nothing can be done to this run, where that is so."""
        why = "read-only: this dashboard changes nothing" if self.read_only else ""
        if not why and self.live.replayed:
            why = "this is a recording: nothing can be changed"
        if not why and going_on(self.live.relaunch):
            why = "a relaunch is being measured"
        why = "the run has ended" if not why and self.live.ended else why
        if why:
            self.notify(why, markup=False)
        return not why

    def action_profile(self) -> None:
        """Open a profiling window, or end the open one."""
        self._window_keys.open_or_end(self.live)

    def action_choose_profile(self) -> None:
        """Ask what a profiling window is to record."""
        self._window_keys.choose_or_end(self.live, self._overview.rank)

    def action_end_profile(self) -> None:
        """End the open profiling window."""
        self._window_keys.end(self.live)

    def _show_windows(self) -> None:
        if isinstance(self.screen, ProfileScreen):
            self.screen.show_newest()
        else:
            self.push_screen(ProfileScreen(self.glyphs, self._shelf))

    def _show_next_window(self) -> None:
        """Show the window that was asked for, at what it was asked for."""
        known = frozenset(view.window_id for view in self.live.profiles)
        self._show_windows()
        if isinstance(self.screen, ProfileScreen) and asks_for_workers(self.live):
            self.screen.ask_tab("workers", known)

    def action_windows(self) -> None:
        """Show the profiling windows, or close them."""
        if isinstance(self.screen, ProfileScreen):
            self.pop_screen()
        else:
            self._show_windows()

    def action_close_relaunch(self) -> None:
        """Close the verdict; while trials run, ask whether to give them up."""
        relaunch = self.live.relaunch
        if relaunch is not None and not going_on(relaunch):
            self._closed_relaunch = relaunch.relaunch_id
            self.live = closed(self.live, relaunch.relaunch_id)
            self.time.close(relaunch.relaunch_id)
            self.show_run()
            self.refresh_bindings()
        else:
            command = CancelCommand(command_id=new_command_id())
            self.confirm("give up the relaunch?", CANCEL_WORDS, command, "give up")

    def action_help(self) -> None:
        """Show all keys."""
        screen = self.screen
        of: Where = "profile" if isinstance(screen, ProfileScreen) else "page"
        where: Where = "overview" if screen is self._overview else of
        self.push_screen(HelpScreen(self.glyphs, of=where, keys=self.config.keys, table=screen.BINDINGS))

    def action_detach(self) -> None:
        """Leave; the training goes on."""
        self.exit(return_code=0)


def _offered(state: DashboardState) -> tuple[object, ...]:
    return state.relaunch is not None, open_window(state) is not None, state.replayed, paused(state)


def _restarts(state: DashboardState) -> int:
    return state.header.hub_restarts if state.header else 0


def run_dashboard(
    run_id: str,
    *,
    config: Config = DEFAULT,
    read_only: bool = False,
    ascii_only: bool = False,
    lead: LeadAddress | None = None,
    recorded: bool = False,
) -> int:
    """Show a run until the person leaves; return 0, or 128 plus the signal that ended it.

    `lead` is the lead hub of a run on several hosts, over TCP; without it the run is one on this host.
    `recorded`: no training goes on, its recording is shown.

    Raises:
        UsageError: there is no terminal, or one that cannot show it.
    """
    require_terminal()
    glyphs = glyphs_of_this_terminal(ascii_only=ascii_only)
    app = DashboardApp(run_id, glyphs, read_only=read_only, config=config, lead=lead, recorded=recorded)
    return app.run_here()
