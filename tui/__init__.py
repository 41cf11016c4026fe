"""What a person sees: the command line and the dashboard. Knows the run only through `perftui.ipc`."""
