"""`config`: where a person's configuration is, what may stand in it, and what is wrong with it."""

import argparse
import os

from perftui.ipc.errors import UsageError
from perftui.tui.verbs.output import say, write, write_json


def config(parsed: argparse.Namespace) -> int:
    """Print the configuration with all defaults, or create its file; 2 where the file has mistakes."""
    from perftui.tui.config.place import config_place, load_config, write_new_config
    from perftui.tui.config.template import config_template

    place = config_place(parsed.config, os.environ)
    if parsed.write:
        write_new_config(place.path, config_template())
        write(str(place.path))
        return 0
    there = place.path.exists()
    found = load_config(parsed.config if there else None)
    if parsed.json:
        from perftui.tui.key_map import keys_in_force

        document = {
            "schema": 1,
            "path": str(place.path),
            "exists": there,
            "theme": found.theme,
            "updates_per_s": found.updates_per_s,
            "panels": found.panels,
            "keys": keys_in_force(found.keys),
            "mistakes": found.mistakes,
        }
        write_json(document)
    else:
        state = "" if there else "  (not there yet: `perftui config --write` creates it)"
        write(f"# {place.path}{state}\n\n{config_template()}".rstrip("\n"))
        for mistake in found.mistakes:
            say(mistake)
    return UsageError.exit_code if found.mistakes else 0
