"""Live view in a browser: view ranks that draw newest steps, and a gateway that serves the page."""
