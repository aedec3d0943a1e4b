"""Networks of machines: their nodes, links and routes."""
