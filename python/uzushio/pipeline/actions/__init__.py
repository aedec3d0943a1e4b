"""One module for each kind of action; see `uzushio.pipeline.action_table`."""
